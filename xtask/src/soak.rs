//! `soak`: an hour of killed holders and killed engines. The part `faults` does so for seconds, on the engine that takes
//! longest to go on.

use crate::apart::{self, Arguments, ExitResult};
use crate::engines::{SOAK, SOAK_ON_REDIS, Test};
use crate::report::Report;

const ENGINES: u32 = 4;
const MINUTES: u32 = 60;
/// Of the part `faults`; then until all has gone on.
const SECONDS: u32 = 3;

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let minutes = apart::number(&mut typed, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    apart::nothing_else(typed)?;
    let run = |report: &mut Report| run_for(report, &SOAK, &[], minutes * 60 / ENGINES);
    Ok(apart::run("soak", &SOAK.needs(), Report::new(false), run))
}

/// Of the part `faults`.
pub(crate) fn run(report: &mut Report) {
    run_for(report, &SOAK_ON_REDIS, &["redis::"], SECONDS);
}

/// For so long on each engine, and then until all has gone on.
fn run_for(report: &mut Report, test: &Test, only: &[&str], seconds: u32) {
    test.run_with(report, |command| {
        command.env("RANDFLAKE_SOAK_SECONDS", seconds.to_string());
        command.arg("--").args(only);
    });
}
