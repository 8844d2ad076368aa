//! `bench leases`: what leases cost on each engine, started by the benchmark itself.

use std::fs;
use std::path::{Path, absolute};

use super::machine::caption;
use super::{put_into, text};
use crate::cargo::{cargo, root};
use crate::engines;
use crate::matrix::{features_of, host_tests};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;

const ENGINES: [&str; 5] = ["sqlite", "redis", "postgres", "mariadb", "etcd"];
/// Of a whole run in the usual folder.
const RECORD: &str = "randflake-std/benches/record/leases.csv";
/// Has the table of that run between two marks.
const DOCUMENT: &str = "docs/performance.md";
const MARKS: [&str; 2] = ["<!-- bench leases -->\n", "<!-- end -->\n"];

pub(super) fn needs() -> Vec<Need> {
    engines::LEASES.needs()
}

/// Of the part `engines`: all of it on each engine, with few node ids.
pub(crate) fn once(report: &mut Report) {
    let mut measure = host_tests();
    measure.args(["--bench", "leases"]);
    if engines::LEASES.tell(report, &mut measure) {
        report.check("bench leases", &mut measure);
    }
}

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let mut options = Vec::new();
    let mut folder = None;
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} needs a value", pair.join(" ")));
        };
        let path = || absolute(value).map_err(|error| error.to_string());
        let value = match name.as_str() {
            "--folder" => {
                folder = Some(path()?);
                continue;
            }
            "--json" => text(&path()?),
            "--rounds" if value.parse::<u32>().is_ok_and(|rounds| rounds > 0) => value.clone(),
            "--rounds" => return Err("--rounds N is allowed, of at least 1".to_owned()),
            "--engine" if ENGINES.contains(&value.as_str()) => value.clone(),
            "--engine" => return Err(format!("engines are {}", ENGINES.join(", "))),
            "--only" if value == "starters" => value.clone(),
            "--only" => return Err("--only starters is allowed".to_owned()),
            _ => return Err(format!("unknown argument {name}")),
        };
        options.extend([name.clone(), value]);
    }
    let Some(scratch) = Scratch::reported(report, "leases") else {
        return Ok(());
    };
    let mut measure = cargo(&[
        "bench",
        "--package",
        "randflake-std",
        "--features",
        &features_of(&["randflake-std"]),
    ]);
    measure.args(["--bench", "leases", "--"]).args(&options);
    let [csv, table] = ["csv", "table"].map(|name| scratch.path().join(name));
    measure.arg("--csv").arg(&csv).arg("--table").arg(&table);
    measure.args(["--caption", &caption("bench leases")]);
    if let Some(folder) = &folder {
        measure.env("TMPDIR", folder);
    }
    if !engines::LEASES.tell(report, &mut measure) || !report.check("leases", &mut measure) {
        return Ok(());
    }
    let is_part = |option: &String| ["--engine", "--only"].contains(&option.as_str());
    let is_whole = !options.iter().any(is_part);
    if is_whole && folder.is_none() {
        report.verdict(RECORD, keep(&csv, &table));
    }
    Ok(())
}

/// Puts the figures into the record, and their table into the document.
fn keep(csv: &Path, table: &Path) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    fs::copy(csv, root().join(RECORD)).map_err(io)?;
    let table = fs::read_to_string(table).map_err(io)?;
    put_into(DOCUMENT, MARKS, &table)
}
