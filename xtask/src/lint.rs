//! `lint`: format, and clippy.

use crate::cargo::cargo;
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
