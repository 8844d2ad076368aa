//! `soak`: an hour of killed holders and killed engines. No part of `test`: it ends when its time is up.

use std::process::ExitCode;

use crate::apart;
use crate::engines::SOAK;
use crate::report::Report;

const MINUTES: u32 = 60;
/// Told to the test.
const VARIABLE: &str = "RANDFLAKE_SOAK_MINUTES";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    let minutes = apart::number(arguments, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    let report = Report::new(false);
    Ok(apart::run("soak", &SOAK.needs(), report, |report| {
        SOAK.run_with(report, |command| {
            command.env(VARIABLE, minutes.to_string());
        });
    }))
}
