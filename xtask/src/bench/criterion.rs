//! The benchmarks of the workspace.

use std::fs;

use super::machine::{caption, record};
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

pub(crate) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let settings: &[&str] = match arguments {
        [] => &SHORT,
        [full] if full == "--full" => &[],
        _ => return Err(format!("unknown arguments {}", arguments.join(" "))),
    };
    for package in PACKAGES {
        let mut command = cargo(&[
            "bench",
            "--package",
            package,
            "--features",
            &features_of(&[package]),
            "--bench",
            "*",
        ]);
        report.check(package, command.arg("--").args(settings));
    }
    Ok(())
}

/// A benchmark that takes its own time, whose report is kept.
pub(crate) fn recorded(
    report: &mut Report,
    name: &str,
    arguments: &[String],
) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments {}", arguments.join(" ")));
    }
    let mut command = cargo(&["bench", "--package", "randflake-std"]);
    command.args(["--features", "sqlite", "--bench", name]);
    let figures = output_of(&mut command).ok_or_else(|| "it did not run to its end".to_owned());
    let verdict = figures.and_then(|figures| {
        println!("{figures}");
        let caption = caption(&format!("bench {name}"));
        let record = record(&format!("-{name}.txt"))?;
        fs::write(&record, format!("{caption}\n\n{}\n", figures.trim_end()))
            .map_err(|error| format!("{}: {error}", record.display()))
    });
    report.verdict(name, verdict);
    Ok(())
}

/// The command line tool, and another build of it beside, in turn.
pub(crate) fn cli(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => {}
        [flag, _] if flag == "--old" => {}
        _ => return Err("--old PROGRAM is allowed".to_owned()),
    }
    let mut command = cargo(&["bench", "--package", "randflake"]);
    command.args(["--no-default-features", "--bench", "command_line", "--"]);
    report.check("cli", command.args(arguments));
    Ok(())
}
