//! `features`: each library, and the tool, without features, and each library with each one alone,
//! looked at by clippy against the dependencies that `lint` built; the libraries without features
//! by the oldest Rust; and `sqlite` beside crates that link SQLite too.
//!
//! All features at once are what `lint` looks at. Dependencies with fewer features would be
//! compiled once more for each choice: `deep msrv` does so, and has the tests, the integrations and
//! the tool's features too.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;

/// The workspace's `rust-version`.
pub(crate) const PROMISED: &str = env!("CARGO_PKG_RUST_VERSION");

pub(crate) fn run(report: &mut Report) {
    let Some(scratch) = report.scratch("features") else {
        return;
    };
    if report.check("build", host_tests().arg("--no-run")) {
        for library in published() {
            check(report, library, &[], scratch.path());
        }
        for library in LIBRARIES.iter() {
            for feature in library.features() {
                check(report, library, &[&feature], scratch.path());
            }
        }
    }
    oldest(report);
    neighbours(report);
}

fn check(report: &mut Report, library: &Library, features: &[&str], out: &Path) {
    let what = format!("{} with {features:?}", library.name);
    let made = Recorded::of(library.name).and_then(|recorded| recorded.clippy(features, out));
    if let Some(mut look) = report.ok(&what, made) {
        report.check(&what, &mut look);
    }
}

/// The libraries below the engines, and those above without any, at once: each alone would compile
/// most of it again. The crates that clients of servers stand on are as much as all of that three
/// times over. Which functions of the standard library are older, clippy knows.
fn oldest(report: &mut Report) {
    let mut command = check_by(PROMISED);
    let names = LIBRARIES
        .iter()
        .map(|library| library.name)
        .filter(|name| !is_engine(name));
    command
        .args(names.flat_map(|name| ["--package", name]))
        .arg("--no-default-features");
    report.check(
        &format!("the libraries without features, by Rust {PROMISED}"),
        &mut command,
    );
}

/// `cargo check` by a version of Rust.
pub(crate) fn check_by(version: &str) -> Command {
    program("rustup", &format!("run --install {version} cargo check"))
}

/// A dependency of the same program. The programs of `integrations` have newer ones together, and
/// are run.
#[rustfmt::skip]
const NEIGHBOURS: &[(&str, &str)] = &[
    ("sqlx-0.8", r#"sqlx = { version = "0.8", default-features = false, features = ["migrate"] }"#),
    ("sqlx-0.9", r#"sqlx = { version = "0.9", default-features = false, features = ["sqlite"] }"#),
    ("sea-orm-1", r#"sea-orm = { version = "1", default-features = false, features = ["sqlx-sqlite"] }"#),
    ("sea-orm-2", r#"sea-orm = { version = "2", default-features = false, features = ["sqlx-sqlite"] }"#),
    ("diesel", r#"diesel = { version = "2", default-features = false, features = ["sqlite"] }"#),
    ("rusqlite-0.37", r#"rusqlite = "0.37""#),
    ("rusqlite-0.42", r#"rusqlite = { version = "0.42", default-features = false }"#),
    OLDEST,
];

/// The first of the range in `Cargo.toml`.
const OLDEST: (&str, &str) = ("rusqlite-0.32", r#"rusqlite = "0.32""#);

/// The feature `sqlite` beside crates that link SQLite too. `links = "sqlite3"` allows one version
/// of it in a program, so cargo must find one that all take.
fn neighbours(report: &mut Report) {
    for (name, dependency) in NEIGHBOURS {
        if let Some(folder) = report.ok(name, neighbour(name, dependency)) {
            let mut lock = cargo("generate-lockfile --quiet");
            report.check(&format!("sqlite beside {name}"), lock.current_dir(folder));
        }
    }
}

/// Of the search `msrv`: the library compiles with the oldest.
pub(crate) fn compile_oldest(report: &mut Report) {
    let (name, dependency) = OLDEST;
    if let Some(folder) = report.ok(name, neighbour(name, dependency)) {
        let mut command = cargo("check --quiet");
        command
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_INCREMENTAL", "0");
        report.check(&format!("sqlite with {name}"), &mut command);
    }
}

/// Writes an empty program with both dependencies.
fn neighbour(name: &str, dependency: &str) -> Result<PathBuf, String> {
    let folder = target().join("neighbours").join(name);
    let manifest = format!(
        "[package]\nname = \"neighbour\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         randflake-std = {{ path = '{}', features = [\"sqlite\"] }}\n{dependency}\n",
        root().join("randflake-std").display()
    );
    files::write(&folder.join("src/lib.rs"), "")?;
    files::write(&folder.join("Cargo.toml"), manifest)?;
    Ok(folder)
}
