//! `bench index`: what kinds of ids cost as primary keys, on a PostgreSQL server of its own.

use std::fs;
use std::process::Command;

use crate::cargo::{output_of, root, target};
use crate::integrations::inside;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::POSTGRES;

/// Of a run with as many rows as the migration guide speaks of.
const RECORD: &str = "randflake-std/benches/record/index.csv";

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&POSTGRES)]
}

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => {}
        [name, rows] if name == "--rows" && rows.parse::<u64>().is_ok_and(|rows| rows >= 10) => {}
        _ => return Err("--rows N is allowed, of at least 10".to_owned()),
    }
    let Some(programs) = report.tool(&POSTGRES, "the benchmark") else {
        return Ok(());
    };
    // A member of the workspace whose tests run it with a few rows.
    let mut build = inside(&["build", "--release", "--locked", "--package", "index"]);
    if !report.check("build", &mut build) {
        return Ok(());
    }
    let mut measure = Command::new(target().join("release/index"));
    measure.arg("--programs").arg(programs).args(arguments);
    let figures = output_of(&mut measure);
    let verdict = match figures {
        None => Err("it did not run to its end".to_owned()),
        Some(figures) => {
            println!("{figures}");
            if arguments.is_empty() {
                fs::write(root().join(RECORD), figures).map_err(|error| error.to_string())
            } else {
                Ok(())
            }
        }
    };
    report.verdict("index", verdict);
    Ok(())
}
