//! `bench leases`: what leases cost on each engine, started by the benchmark itself.

use std::fs;
use std::path::Path;

use super::machine::caption;
use super::{put_into, text};
use crate::apart::{self, Arguments};
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

pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let folder = apart::path(&mut typed, "--folder")?;
    let json = apart::path(&mut typed, "--json")?;
    let rounds = apart::number(&mut typed, "--rounds", 1..=10_000)?;
    let engine = apart::text(&mut typed, "--engine")?;
    let only = apart::text(&mut typed, "--only")?;
    apart::nothing_else(typed)?;
    if engine
        .as_deref()
        .is_some_and(|name| !ENGINES.contains(&name))
    {
        return Err(format!("engines are {}", ENGINES.join(", ")));
    }
    let parts = ["starters", "looks"];
    if only.as_deref().is_some_and(|part| !parts.contains(&part)) {
        return Err("--only starters and --only looks are allowed".to_owned());
    }
    let is_whole = engine.is_none() && only.is_none() && folder.is_none();
    let Some(scratch) = Scratch::reported(report, "leases") else {
        return Ok(());
    };
    let features = features_of(&["randflake-std"]);
    let mut measure = cargo(&[
        "bench",
        "--package",
        "randflake-std",
        "--features",
        &features,
    ]);
    measure.args(["--bench", "leases", "--"]);
    for (flag, value) in [
        ("--json", json.map(|path| text(&path))),
        ("--rounds", rounds.map(|rounds| rounds.to_string())),
        ("--engine", engine),
        ("--only", only),
    ] {
        measure.args(value.iter().flat_map(|value| [flag, value]));
    }
    let [csv, table] = ["csv", "table"].map(|name| scratch.path().join(name));
    measure.arg("--csv").arg(&csv).arg("--table").arg(&table);
    measure.args(["--caption", &caption("bench leases")]);
    if let Some(folder) = &folder {
        measure.env("TMPDIR", folder);
    }
    if !engines::LEASES.tell(report, &mut measure) || !report.check("leases", &mut measure) {
        return Ok(());
    }
    if is_whole {
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
