//! `integrations`: ids in other crates' traits, on the real thing, and the examples for servers: a workspace of its own,
//! built once, with all features that its programs ask for together. It shares the target directory, so that what both
//! workspaces stand on is built once too, where their lock files name the same versions.

use std::process::Command;

use crate::cargo::{cargo, root, target};
use crate::engines::DATABASES;
use crate::report::Report;
use crate::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    let rustfmt = Need::Command("fmt", "rustfmt");
    DATABASES.needs().into_iter().chain([rustfmt]).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut inside(&["fmt", "--check"]));
    let mut tests = inside(&["test", "--locked", "--workspace", "--no-fail-fast"]);
    // Some of the crates that `peers` compares with ask for a newer compiler than they need.
    tests.arg("--ignore-rust-version");
    if DATABASES.tell(report, &mut tests) {
        report.tests("columns, formats and examples", &mut tests);
    }
}

/// A command of cargo in the workspace of the examples.
pub(crate) fn inside(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command
        .current_dir(root().join("randflake-std/examples"))
        .env("CARGO_TARGET_DIR", target())
        // The project's setting, which came with this program's environment: the workspace has its own.
        .env_remove("LIBSQLITE3_FLAGS");
    command
}
