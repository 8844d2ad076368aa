//! A part of `features`: the feature `sqlite` beside crates that link SQLite too. `links = "sqlite3"` allows one version of it in
//! a program, so cargo must find one that all take.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::helpers::cargo::{cargo, root, target};
use crate::helpers::report::Report;

/// A dependency of the same program. The programs of `integrations` have newer ones together, and are run.
const NEIGHBOURS: &[(&str, &str)] = &[
    (
        "sqlx-0.8",
        r#"sqlx = { version = "0.8", default-features = false, features = ["migrate"] }"#,
    ),
    (
        "sqlx-0.9",
        r#"sqlx = { version = "0.9", default-features = false, features = ["sqlite"] }"#,
    ),
    (
        "sea-orm-1",
        r#"sea-orm = { version = "1", default-features = false, features = ["sqlx-sqlite"] }"#,
    ),
    (
        "sea-orm-2",
        r#"sea-orm = { version = "2", default-features = false, features = ["sqlx-sqlite"] }"#,
    ),
    (
        "diesel",
        r#"diesel = { version = "2", default-features = false, features = ["sqlite"] }"#,
    ),
    ("rusqlite-0.37", r#"rusqlite = "0.37""#),
    (
        "rusqlite-0.42",
        r#"rusqlite = { version = "0.42", default-features = false }"#,
    ),
    OLDEST,
];

/// The first of the range in `Cargo.toml`: this one is compiled too.
const OLDEST: (&str, &str) = ("rusqlite-0.32", r#"rusqlite = "0.32""#);

pub(crate) fn run(report: &mut Report) {
    for (name, dependency) in NEIGHBOURS {
        match program(name, dependency) {
            Ok(folder) => {
                let mut command = cargo(&["generate-lockfile", "--quiet"]);
                report.check(
                    &format!("sqlite beside {name}"),
                    command.current_dir(folder),
                );
            }
            Err(error) => _ = report.verdict(name, Err(error.to_string())),
        }
    }
    let mut command = cargo(&["check", "--quiet"]);
    command
        .current_dir(folder(OLDEST.0))
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_INCREMENTAL", "0");
    report.check(&format!("sqlite with {}", OLDEST.0), &mut command);
}

/// Writes an empty program with both dependencies.
fn program(name: &str, dependency: &str) -> io::Result<PathBuf> {
    let folder = folder(name);
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    fs::write(folder.join("Cargo.toml"), manifest(&root(), dependency))?;
    Ok(folder)
}

fn folder(name: &str) -> PathBuf {
    target().join("neighbours").join(name)
}

fn manifest(root: &Path, dependency: &str) -> String {
    let std = root.join("randflake-std");
    let std = std.display();
    format!(
        "[package]\nname = \"neighbour\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         randflake-std = {{ path = '{std}', features = [\"sqlite\"] }}\n{dependency}\n"
    )
}
