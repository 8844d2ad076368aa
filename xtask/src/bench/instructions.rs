//! `bench instructions`: what valgrind counts is the same on a busy machine, so it is recorded, and a change shows in
//! review.

use core::fmt::Write as _;
use std::fs;

use crate::apart::{self, Arguments};
use crate::cargo::{cargo, output_of, program, root, shown};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::VALGRIND;

const RECORD: &str = "randflake-std/benches/record/instructions.csv";
/// What one count covers: see `benches/instructions.rs`.
const IDS: u64 = 1_024;

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&VALGRIND)]
}

pub(super) fn run(report: &mut Report, typed: Arguments) -> Result<(), String> {
    apart::nothing_else(typed)?;
    if report.tool(&VALGRIND, "counting instructions").is_some() {
        let verdict = count(&[]).and_then(|mut all| {
            // As a program has it that can be observed, while nobody does.
            let observed = count(&["--features", "metrics,tracing"])?.into_iter();
            let observed = observed.filter(|(case, _)| case.starts_with("handle"));
            all.extend(observed.map(|(case, count)| (format!("{case}_observed"), count)));
            write(&all)
        });
        report.verdict(RECORD, verdict);
    }
    Ok(())
}

/// Cases, and the instructions of each.
fn count(features: &[&str]) -> Result<Vec<(String, u64)>, String> {
    let mut count = cargo(&[
        "bench",
        "--package",
        "randflake-std",
        "--bench",
        "instructions",
    ]);
    count.args(features).env("RANDFLAKE_VALGRIND", "valgrind");
    println!("\n$ {}", shown(&count));
    let counted = output_of(&mut count).unwrap_or_default();
    let row = |line: &str| {
        let (case, count) = line.split_once(',')?;
        Some((case.to_owned(), count.parse().ok()?))
    };
    let rows: Vec<_> = counted.lines().filter_map(row).collect();
    if rows.is_empty() {
        return Err(format!("nothing was counted: {}", shown(&count)));
    }
    Ok(rows)
}

fn write(counts: &[(String, u64)]) -> Result<(), String> {
    let rustc = output_of(&mut program("rustc", &["--version"])).unwrap_or_default();
    let mut csv = format!(
        "# cargo xtask bench instructions; {rustc}; {IDS} ids in each count\ncase,instructions,for_one\n"
    );
    for (case, count) in counts {
        let (whole, tenths) = (count / IDS, count % IDS * 10 / IDS);
        // A string takes all that is written.
        _ = writeln!(csv, "{case},{count},{whole}.{tenths}");
    }
    println!("\n{csv}");
    fs::write(root().join(RECORD), csv).map_err(|error| format!("{RECORD}: {error}"))
}
