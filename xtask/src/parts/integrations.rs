//! `integrations`: ids in other crates' traits, on the real thing, and the examples for servers: a
//! workspace of its own, built once, with all features that its programs ask for together. It
//! shares the target directory, so that what both workspaces stand on is built once too, where
//! their lock files name the same versions.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::helpers::cargo::{cargo, root, target};
use crate::helpers::clippy;
use crate::helpers::files::write_script;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::parts::engines::DATABASES;
use crate::parts::sql;

pub(crate) fn needs() -> Vec<Need> {
    let rustfmt = Need::Command("fmt", "rustfmt");
    DATABASES.needs().into_iter().chain([rustfmt]).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut inside(&["fmt", "--check"]));
    let mut tests = inside(&[
        "test",
        "--locked",
        "--workspace",
        "--no-fail-fast",
        "--exclude",
        "randflake-sqlite-extension",
    ]);
    // Some of the crates that `peers` compares with ask for a newer compiler than they need.
    tests.arg("--ignore-rust-version");
    match wrapper() {
        Ok(wrapper) => clippy::while_building(&mut tests).env("RUSTC_WRAPPER", wrapper),
        Err(error) => {
            report.verdict("clippy", Err(error.to_string()));
            return;
        }
    };
    if !DATABASES.tell(report, &mut tests) {
        return;
    }
    // `sqlx` has functions of SQLite by the extension alone.
    let (Some(extension), Some(scratch)) = (sql::extension(report), report.scratch("integrations"))
    else {
        return;
    };
    let key = scratch.path().join("key");
    let written = private(&key, SECRET).map_err(|error| error.to_string());
    if report.verdict("key file", written) {
        tests.env("RANDFLAKE_SQLITE_EXTENSION", extension);
        tests.env("RANDFLAKE_KEY_FILE", key);
        report.tests("columns, formats and examples", &mut tests);
    }
}

/// Lets clippy look at core's integrations too, which are compiled here with the crates that they
/// are for. It is no crate of this workspace.
fn wrapper() -> io::Result<PathBuf> {
    let path = target().join("rustc-for-integrations");
    let driver = clippy::driver();
    let clippy = driver.display();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*\"--crate-name randflake_core \"*) exec '{clippy}' \"$@\" ;;\n*) exec \"$@\" ;;\nesac\n"
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
pub(crate) fn inside(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command
        .current_dir(root().join("randflake-std/examples"))
        .env("CARGO_TARGET_DIR", target())
        // The project's setting, which came with this program's environment: the workspace has its
        // own.
        .env_remove("LIBSQLITE3_FLAGS");
    command
}
