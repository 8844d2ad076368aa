//! `bench peers`: the crates in one process, and the published Python package in its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine::{RECORDS, caption, record};
use super::{put_into, target, text, workspace};
use crate::cargo::{cargo, output_of, program, root};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{RANDFLAKE, Venv};

/// Of a run without arguments.
const CHART: &str = "docs/peers.svg";
/// Has the table of all records between two marks.
const DOCUMENT: &str = "docs/performance.md";
const MARKS: [&str; 2] = ["<!-- bench peers -->\n", "<!-- end -->\n"];

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let options = options(arguments)?;
    let folder = workspace("peers");
    // Some of the crates ask for a newer compiler than they need.
    let mut build = cargo(&["build", "--release", "--locked", "--ignore-rust-version"]);
    build
        .current_dir(&folder)
        .arg("--target-dir")
        .arg(target("peers"));
    if !report.check("build", &mut build) {
        return Ok(());
    }
    let mut measure = Command::new(target("peers").join("release/peers"));
    measure
        .args(options)
        .args(["--caption", &caption("bench peers")]);
    let Some(scratch) = Scratch::reported(report, "bench") else {
        return Ok(());
    };
    if let Some(figures) = python_figures(report, &folder, scratch.path()) {
        measure.arg("--with").arg(figures);
    }
    if !arguments.is_empty() {
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

/// What the program is given: paths are of the directory where this was typed.
fn options(arguments: &[String]) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} needs a value", pair.join(" ")));
        };
        let value = match name.as_str() {
            "--rounds" | "--only" => value.clone(),
            "--json" | "--svg" => {
                let path = std::path::absolute(value).map_err(|error| error.to_string())?;
                text(&path)
            }
            _ => return Err(format!("unknown argument {name}")),
        };
        options.extend([name.clone(), value]);
    }
    Ok(options)
}

/// The figures of the Python package, measured in a virtual environment made for it.
fn python_figures(report: &mut Report, folder: &Path, scratch: &Path) -> Option<PathBuf> {
    let venv = Venv::with(report, "bench-python", "the Python package", &[RANDFLAKE])?;
    let script = text(&folder.join("package.py"));
    let figures = output_of(&mut program(&text(&venv.program("python")), &[&script]));
    let path = scratch.join("figures");
    let written = figures
        .ok_or_else(|| "it did not run".to_owned())
        .and_then(|figures| fs::write(&path, figures).map_err(|error| error.to_string()));
    report
        .verdict("the Python package", written)
        .then_some(path)
}
