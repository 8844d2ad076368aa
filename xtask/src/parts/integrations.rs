//! `integrations`: ids in other crates' traits, on the real thing, and the examples for servers: a
//! workspace of its own, built once, with all features that its programs ask for together. It
//! shares the target directory, so that what both workspaces stand on is built once too, where
//! their lock files name the same versions.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::helpers::prelude::*;
use crate::parts::engines::DATABASES;
use crate::parts::sql;

pub(crate) fn needs() -> Vec<Need> {
    let rustfmt = Need::Command("fmt", "rustfmt");
    DATABASES.needs().into_iter().chain([rustfmt]).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut inside("fmt --check"));
    // Some of the crates that `peers` compares with ask for a newer compiler than they need.
    let mut tests = inside(
        "test --locked --workspace --no-fail-fast --ignore-rust-version \
         --exclude randflake-sqlite-extension",
    );
    let Some(wrapper) = report.ok("clippy", wrapper()) else {
        return;
    };
    while_building(&mut tests).env("RUSTC_WRAPPER", wrapper);
    if !DATABASES.tell(report, &mut tests) {
        return;
    }
    // `sqlx` has functions of SQLite by the extension alone.
    if let Some(extension) = sql::extension(report)
        && let Some(scratch) = report.scratch("integrations")
        && let key = scratch.path().join("key")
        && report.verdict("key file", private(&key, SECRET))
    {
        tests
            .env("RANDFLAKE_SQLITE_EXTENSION", extension)
            .env("RANDFLAKE_KEY_FILE", key);
        report.tests("columns, formats and examples", &mut tests);
    }
}

/// Lets clippy look at core's integrations too, which are compiled here with the crates that they
/// are for. It is no crate of this workspace.
fn wrapper() -> io::Result<PathBuf> {
    let path = target().join("rustc-for-integrations");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*\"--crate-name randflake_core \"*) exec '{}' \"$@\" ;;\n*) exec \"$@\" ;;\nesac\n",
        clippy::driver().display()
    );
    write_script(&path, &script)?;
    Ok(path)
}

/// That of the tests, which know an id under it.
const SECRET: &str = "dffd6021bb2bd5b0af676290809ec3a5";

/// A file that its owner alone may read, as the extension wants it.
fn private(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// A command of cargo in the workspace of the examples.
pub(crate) fn inside(words: &str) -> Command {
    let mut command = cargo_in(&root().join("randflake-std/examples"), &target(), words);
    // The project's setting, which came with this program's environment: the workspace has its own.
    command.env_remove("LIBSQLITE3_FLAGS");
    command
}
