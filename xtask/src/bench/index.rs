//! `bench index`: what kinds of ids cost as primary keys, on a PostgreSQL server of its own.

use std::fs;
use std::process::Command;

use crate::apart::{self, Arguments};
use crate::cargo::{output_of, root, target};
use crate::engines::PRIMARY_KEYS;
use crate::integrations::inside;
use crate::report::Report;
use crate::setup::Need;

/// Of a run with as many rows as the migration guide speaks of.
const RECORD: &str = "randflake-std/benches/record/index.csv";

pub(super) fn needs() -> Vec<Need> {
    PRIMARY_KEYS.needs()
}

pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let rows = apart::number(&mut typed, "--rows", 10..=u32::MAX)?;
    apart::nothing_else(typed)?;
    let mut measure = Command::new(target().join("release/index"));
    if !PRIMARY_KEYS.tell(report, &mut measure) {
        return Ok(());
    }
    // A member of the workspace whose tests run it with a few rows.
    let mut build = inside(&["build", "--release", "--locked", "--package", "index"]);
    if !report.check("build", &mut build) {
        return Ok(());
    }
    if let Some(rows) = rows {
        measure.args(["--rows", &rows.to_string()]);
    }
    let figures = output_of(&mut measure).ok_or_else(|| "it did not run to its end".to_owned());
    let verdict = figures.and_then(|figures| {
        println!("{figures}");
        match rows {
            Some(_) => Ok(()),
            None => fs::write(root().join(RECORD), figures).map_err(|error| error.to_string()),
        }
    });
    report.verdict("index", verdict);
    Ok(())
}
