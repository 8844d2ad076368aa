//! `histories`: the histories of the part `faults`, for longer.

use crate::apart::{self, Arguments, ExitResult};
use crate::engines::FAULTS;
use crate::report::Report;

const MINUTES: u32 = 10;

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let minutes = apart::number(&mut typed, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    apart::nothing_else(typed)?;
    let run = |report: &mut Report| {
        FAULTS.run_with(report, |command| {
            command.env("RANDFLAKE_HISTORY_SECONDS", (minutes * 60).to_string());
            command.args(["--", "histories"]);
        });
    };
    Ok(apart::run(
        "histories",
        &FAULTS.needs(),
        Report::new(false),
        run,
    ))
}
