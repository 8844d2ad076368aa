//! The benchmarks of the workspace.

use std::fs;
use std::process::Command;

use super::machine::{caption, record};
use crate::apart::{self, Arguments};
use crate::cargo::{cargo, output_of};
use crate::matrix::features_of;
use crate::report::Report;

/// All targets of a crate at once, so that a new one is run without being named here. `load`, `threads` and the
/// stores take their own time.
const PACKAGES: [&str; 3] = ["sparx64", "randflake-core", "randflake-std"];

/// A second for each case.
const SHORT: [&str; 6] = [
    "--warm-up-time",
    "0.3",
    "--measurement-time",
    "0.7",
    "--sample-size",
    "20",
];

pub(crate) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let settings: &[&str] = if typed.contains("--full") {
        &[]
    } else {
        &SHORT
    };
    apart::nothing_else(typed)?;
    for package in PACKAGES {
        let features = features_of(&[package]);
        let mut command = cargo(&["bench", "--package", package, "--features", &features]);
        report.check(package, command.args(["--bench", "*", "--"]).args(settings));
    }
    Ok(())
}

/// A benchmark that takes its own time, whose report is kept.
pub(crate) fn recorded(report: &mut Report, name: &str, typed: Arguments) -> Result<(), String> {
    apart::nothing_else(typed)?;
    let mut command = cargo(&["bench", "--package", "randflake-std"]);
    command.args(["--features", "sqlite", "--bench", name]);
    keep(report, name, &mut command);
    Ok(())
}

/// Puts what a benchmark prints into the record.
pub(super) fn keep(report: &mut Report, name: &str, command: &mut Command) {
    let figures = output_of(command).ok_or_else(|| "it did not run to its end".to_owned());
    let verdict = figures.and_then(|figures| {
        println!("{figures}");
        let caption = caption(&format!("bench {name}"));
        let record = record(&format!("-{name}.txt"))?;
        fs::write(&record, format!("{caption}\n\n{}\n", figures.trim_end()))
            .map_err(|error| format!("{}: {error}", record.display()))
    });
    report.verdict(name, verdict);
}

/// The command line tool, and another build of it beside, in turn.
pub(crate) fn cli(report: &mut Report, typed: Arguments) -> Result<(), String> {
    of_the_tool(report, typed, ["cli", "command_line"], "--old")
}

/// Tables through the command line tool.
pub(crate) fn tables(report: &mut Report, typed: Arguments) -> Result<(), String> {
    of_the_tool(report, typed, ["tables", "tables"], "--rows")
}

/// A benchmark of the command line tool, with the one option it has.
fn of_the_tool(
    report: &mut Report,
    mut typed: Arguments,
    [name, bench]: [&str; 2],
    option: &'static str,
) -> Result<(), String> {
    let value = apart::text(&mut typed, option)?;
    apart::nothing_else(typed)?;
    let mut command = cargo(&["bench", "--package", "randflake"]);
    command.args(["--no-default-features", "--bench", bench, "--"]);
    command.args(value.iter().flat_map(|value| [option, value]));
    report.check(name, &mut command);
    Ok(())
}
