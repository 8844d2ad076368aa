//! `lint`: format, and clippy.

use std::path::Path;
use std::process::Command;

use crate::cargo::{cargo, output_of, program};
use crate::matrix::all_features;
use crate::report::Report;
use crate::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    vec![
        Need::Command("fmt", "rustfmt"),
        Need::Command("clippy", "clippy"),
    ]
}

/// Warnings are denied to clippy, not in `RUSTFLAGS`: those would build every dependency once more.
pub(crate) const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// Lets the compiler lint what it builds, which takes half of the time of doing both. What clippy builds is optimised less,
/// so only `check` does this.
pub(crate) fn while_building(command: &mut Command) {
    let sysroot = output_of(&mut program("rustc", &["--print", "sysroot"])).unwrap_or_default();
    // As `cargo clippy -- -D warnings` says it.
    let arguments = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
    command
        .env(
            "RUSTC_WORKSPACE_WRAPPER",
            Path::new(&sysroot).join("bin/clippy-driver"),
        )
        .env("CLIPPY_ARGS", arguments);
}

pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut cargo(&["fmt", "--all", "--check"]));
    let features = all_features();
    let variants: [(&str, &[&str]); 2] = [
        (
            "clippy, all features",
            &["--all-targets", "--features", &features],
        ),
        // `--all-targets` passes over the test targets that have `test = false`.
        (
            "clippy, separate tests",
            &["--test", "*", "--features", &features],
        ),
    ];
    for (what, selection) in variants {
        let mut command = cargo(&["clippy", "--workspace"]);
        report.check(what, command.args(selection).args(DENY));
    }
}
