//! `msrv`: the workspace compiles with the oldest Rust that is promised, and so does core with each
//! integration alone; no name in it is about to mean something else; and features compile as
//! `features` does not try them. No part of `test`, which has no time to check all crates once
//! more: there the libraries without features are, and clippy's lint `incompatible_msrv` watches
//! the standard library's younger items, those that the tool uses too.

use std::process::Command;

use crate::helpers::arguments::{self, Arguments, Plan, Planned};
use crate::helpers::cargo::{nightly, program};
use crate::helpers::matrix::{INTEGRATIONS, LIBRARIES, all_features, all_features_but, is_engine};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::parts::features;
use crate::parts::sql;

/// The workspace's `rust-version`.
const PROMISED: &str = env!("CARGO_PKG_RUST_VERSION");

/// Features whose crates need a younger Rust than ours, and which.
const YOUNGER: (&[&str], &str) = (&["sea-orm", "sqlx"], "1.94");

pub(crate) fn plan(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    // It comes with a nightly toolchain.
    Plan::of(vec![Need::Miri, features::rest_needs()], run)
}

/// Of the part `features`: the libraries below the engines, and those above without any, at once:
/// each alone would compile most of it again. The crates that clients of servers stand on are as
/// much as all of that three times over. Which functions of the standard library are older, clippy
/// knows.
pub(crate) fn once(report: &mut Report) {
    let mut command = check(PROMISED);
    let names = LIBRARIES
        .iter()
        .map(|library| library.name)
        .filter(|name| !is_engine(name));
    command.args(names.flat_map(|name| ["--package", name]));
    let what = format!("the libraries without features, by Rust {PROMISED}");
    report.check(&what, command.arg("--no-default-features"));
}

fn run(report: &mut Report) {
    let (younger, needed) = YOUNGER;
    let features = all_features_but(younger);
    report.check(PROMISED, &mut whole(check(PROMISED), &features));
    let what = format!("{PROMISED}, the extension of SQLite");
    report.check(&what, &mut sql::inside(check(PROMISED)));
    for feature in INTEGRATIONS {
        let version = if younger.contains(feature) {
            needed
        } else {
            PROMISED
        };
        let mut command = check(version);
        command.args(["--package", "randflake-core", "--no-default-features"]);
        let what = format!("{version}, randflake-core with {feature}");
        report.check(&what, command.args(["--features", feature]));
    }
    names(report);
    features::compile_oldest(report);
    features::rest(report);
}

/// Names that the standard library is about to take: where it has the method that a trait of ours
/// has, its own is called as soon as it is stable.
fn names(report: &mut Report) {
    let mut command = whole(nightly(&["cargo", "check"]), &all_features());
    command.env("RUSTFLAGS", "-Dunstable_name_collisions");
    report.check("names of the next Rust", &mut command);
}

fn check(version: &str) -> Command {
    program("rustup", &["run", "--install", version, "cargo", "check"])
}

fn whole(mut check: Command, features: &str) -> Command {
    check.args(["--workspace", "--all-targets", "--features", features]);
    check
}
