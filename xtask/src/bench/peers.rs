//! `bench peers`: the crates in one process, and the published Python package in its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine::{RECORDS, caption, record};
use super::{put_into, text};
use crate::apart::{self, Arguments};
use crate::cargo::{output_of, program, root, target};
use crate::integrations::inside;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{RANDFLAKE, Venv};

/// Measures the Python package.
const SCRIPT: &str = "randflake-std/benches/peers/package.py";
/// Of a run without arguments.
const CHART: &str = "docs/peers.svg";
/// Has the table of all records between two marks.
const DOCUMENT: &str = "docs/performance.md";
const MARKS: [&str; 2] = ["<!-- bench peers -->\n", "<!-- end -->\n"];

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let rounds = apart::number(&mut typed, "--rounds", 1..=10_000)?;
    let only = apart::text(&mut typed, "--only")?;
    let json = apart::path(&mut typed, "--json")?;
    let svg = apart::path(&mut typed, "--svg")?;
    apart::nothing_else(typed)?;
    let options = [
        ("--rounds", rounds.map(|rounds| rounds.to_string())),
        ("--only", only),
        ("--json", json.map(|path| text(&path))),
        ("--svg", svg.map(|path| text(&path))),
    ];
    let is_whole = options.iter().all(|(_, value)| value.is_none());
    // A member of the workspace whose tests run each case once. Some of the crates ask for a newer compiler than they need.
    let mut build = inside(&["build", "--release", "--locked", "--ignore-rust-version"]);
    if !report.check("build", build.args(["--package", "peers"])) {
        return Ok(());
    }
    let mut measure = Command::new(target().join("release/peers"));
    measure.args(["--caption", &caption("bench peers")]);
    for (flag, value) in &options {
        measure.args(value.iter().flat_map(|value| [flag, value.as_str()]));
    }
    let Some(scratch) = Scratch::reported(report, "bench") else {
        return Ok(());
    };
    if let Some(figures) = python_figures(report, scratch.path()) {
        measure.arg("--with").arg(figures);
    }
    if !is_whole {
        report.check("peers", &mut measure);
        return Ok(());
    }
    let table = scratch.path().join("table");
    let verdict = record(".jsonl").map(|record| {
        measure.arg("--json").arg(record);
        measure.arg("--svg").arg(root().join(CHART));
        measure.arg("--records").arg(root().join(RECORDS));
        measure.arg("--table").arg(&table);
    });
    if report.verdict("record", verdict) && report.check("peers", &mut measure) {
        let table = fs::read_to_string(&table).map_err(|error| error.to_string());
        let verdict = table.and_then(|table| put_into(DOCUMENT, MARKS, &table));
        report.verdict(DOCUMENT, verdict);
    }
    Ok(())
}

/// The figures of the Python package, measured in a virtual environment made for it.
fn python_figures(report: &mut Report, scratch: &Path) -> Option<PathBuf> {
    let venv = Venv::with(report, "bench-python", "the Python package", &[RANDFLAKE])?;
    let script = text(&root().join(SCRIPT));
    let figures = output_of(&mut program(&text(&venv.program("python")), &[&script]));
    let path = scratch.join("figures");
    let written = figures
        .ok_or_else(|| "it did not run".to_owned())
        .and_then(|figures| fs::write(&path, figures).map_err(|error| error.to_string()));
    report
        .verdict("the Python package", written)
        .then_some(path)
}
