//! `bench serve` and `bench memory`: `randflake serve` under load. Both are parts of the tool's benchmark `serve`.

use std::process::Command;

use super::criterion::keep;
use super::text;
use crate::apart::{self, Arguments};
use crate::cargo::cargo;
use crate::engines::LOADED_SERVER;
use crate::matrix::host_tests;
use crate::report::Report;
use crate::setup::Need;

pub(super) fn needs() -> Vec<Need> {
    LOADED_SERVER.needs()
}

/// Ids a second, beside Redis.
pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let rounds = apart::number(&mut typed, "--rounds", 1..=100)?;
    apart::nothing_else(typed)?;
    let mut measure = load("rates");
    measure.args(
        rounds
            .iter()
            .flat_map(|rounds| ["--rounds".to_owned(), rounds.to_string()]),
    );
    if LOADED_SERVER.tell(report, &mut measure) {
        keep(report, "serve", &mut measure);
    }
    Ok(())
}

/// What floods and bursts of connections make it hold.
pub(super) fn memory(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    // Of fewer nobody can tell whether growth ends.
    let bursts = apart::number(&mut typed, "--bursts", 30..=100_000)?;
    let program = apart::path(&mut typed, "--program")?;
    apart::nothing_else(typed)?;
    let mut measure = load("memory");
    for (flag, value) in [
        ("--bursts", bursts.map(|bursts| bursts.to_string())),
        ("--program", program.map(|path| text(&path))),
    ] {
        measure.args(value.iter().flat_map(|value| [flag, value]));
    }
    if LOADED_SERVER.tell(report, &mut measure) {
        report.check("memory of the server", &mut measure);
    }
    Ok(())
}

/// A part of the tool's benchmark.
fn load(part: &str) -> Command {
    let mut measure = cargo(&["bench", "--package", "randflake", "--bench", "serve"]);
    measure.args(["--", part]);
    measure
}

/// Of the part `serve`: a short form of both.
pub(crate) fn once(report: &mut Report) {
    let mut measure = host_tests();
    measure.args(["--bench", "serve"]);
    if LOADED_SERVER.tell(report, &mut measure) {
        report.check("the benchmark of the server", &mut measure);
    }
}
