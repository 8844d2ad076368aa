//! `lint`: format, and clippy, which builds what the other parts run on this machine; and what dependencies may be.

use crate::helpers::cargo::cargo;
use crate::helpers::clippy::while_building;
use crate::helpers::matrix::host_tests;
use crate::helpers::report::Report;
use crate::helpers::setup::{CLIPPY, Need};
use crate::parts::deny;

pub(crate) fn needs() -> Vec<Need> {
    [format_needs(), deny::needs()].concat()
}

pub(crate) fn format_needs() -> Vec<Need> {
    vec![Need::Command("fmt", "rustfmt"), CLIPPY]
}

/// Warnings are denied to clippy, not in `RUSTFLAGS`: those would build every dependency once more.
pub(crate) const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// All that other parts run on this machine is built here.
pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut cargo(&["fmt", "--all", "--check"]));
    // Without a choice of targets, those that have `test = false` are passed over.
    for targets in [&[][..], &["--test", "*", "--bench", "*"]] {
        let mut build = host_tests();
        report.check("clippy", build.arg("--no-run").args(targets));
    }
    for arguments in [&["build"][..], &["test", "--no-run"]] {
        let mut build = cargo(arguments);
        build.args(["--package", "xtask"]);
        report.check("clippy, xtask", while_building(&mut build));
    }
    deny::run(report);
}
