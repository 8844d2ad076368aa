//! `histories`: the histories of the part `faults`, for longer; then those of the part `engines` with more steps, and as many
//! node ids of a namespace leased as a layout has.

use crate::apart::{self, Arguments, ExitResult};
use crate::engines::{CONTRACTS, FAULTS};
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
        CONTRACTS.run_with(report, |command| {
            command.env("RANDFLAKE_CONTRACT_LONG", "1");
            command.args(["--", "random_histories_grant", "a_nearly_full"]);
        });
    };
    let needs = [FAULTS.needs(), CONTRACTS.needs()].concat();
    Ok(apart::run("histories", &needs, Report::new(false), run))
}
