//! SQLite: its extension is a workspace of its own, whose tests load it into Debian's command line and into Python.

use std::path::PathBuf;
use std::process::Command;

use crate::helpers::cargo::{cargo, root, target};
use crate::helpers::clippy;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{PYTHON_SQLITE, SQLITE};
use crate::parts::lint;

pub(super) fn needs() -> Vec<Need> {
    let tools = [&PYTHON_SQLITE, &SQLITE].map(Need::Tool);
    tools.into_iter().chain(lint::format_needs()).collect()
}

pub(super) fn run(report: &mut Report) {
    report.check("extension, format", &mut inside(&["fmt", "--check"]));
    let what = "the extension in SQLite and in Python";
    let mut tests = inside(&["test", "--locked"]);
    if let Some(extension) = extension(report)
        && let Some(shell) = report.tool(&SQLITE, what)
        && let Some(python) = report.tool(&PYTHON_SQLITE, what)
    {
        tests.env("RANDFLAKE_SQLITE_EXTENSION", extension);
        tests.env("RANDFLAKE_SQLITE3", shell);
        tests.env("RANDFLAKE_SQLITE_PYTHON", python);
        report.tests(what, &mut tests);
    }
}

/// Builds the extension: the path by which SQLite loads it.
pub(crate) fn extension(report: &mut Report) -> Option<PathBuf> {
    let is_built = report.check("extension", &mut inside(&["build", "--locked"]));
    is_built.then(|| folder().join("debug/librandflake"))
}

/// The same command in the workspace of the extension.
pub(crate) fn inside_of(mut command: Command) -> Command {
    command
        .current_dir(root().join("randflake-std/sqlite-extension"))
        .env("CARGO_TARGET_DIR", folder());
    command
}

/// Cargo in the workspace of the extension.
fn inside(arguments: &[&str]) -> Command {
    let mut command = inside_of(cargo(arguments));
    clippy::while_building(&mut command);
    command
}

fn folder() -> PathBuf {
    target().join("sqlite-extension")
}
