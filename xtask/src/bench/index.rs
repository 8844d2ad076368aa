//! `bench index`: what kinds of ids cost as primary keys, on servers of its own: PostgreSQL and MariaDB.

use std::fs;
use std::process::Command;

use crate::apart::{self, Arguments};
use crate::cargo::{output_of, root, target};
use crate::engines::PRIMARY_KEYS;
use crate::integrations::inside;
use crate::report::Report;
use crate::setup::Need;

/// Of a run without options, and so with each database's own number of rows: the figures of the migration guide.
const RECORD: &str = "randflake-std/benches/record/index.csv";

/// Each has a value, which the benchmark checks.
const OPTIONS: [&str; 6] = [
    "--rows",
    "--database",
    "--arrival",
    "--rates",
    "--delay-ms",
    "--writers",
];

pub(super) fn needs() -> Vec<Need> {
    PRIMARY_KEYS.needs()
}

pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let mut options = Vec::new();
    for name in OPTIONS {
        if let Some(value) = apart::text(&mut typed, name)? {
            options.extend([name.to_owned(), value]);
        }
    }
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
    measure.args(&options);
    let figures = output_of(&mut measure).ok_or_else(|| "it did not run to its end".to_owned());
    let verdict = figures.and_then(|figures| {
        println!("{figures}");
        if !options.is_empty() {
            return Ok(());
        }
        fs::write(root().join(RECORD), figures).map_err(|error| error.to_string())
    });
    report.verdict("index", verdict);
    Ok(())
}
