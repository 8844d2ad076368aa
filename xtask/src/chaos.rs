//! `chaos`: what processes, servers and the engine of a whole fleet go through. The part `serve` does each once.

use std::process::ExitCode;

use crate::apart;
use crate::engines::CHAOS;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{RANDFLAKE, Venv};

const MINUTES: u32 = 10;

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = CHAOS.needs();
    needs.push(Need::Tool(&PYTHON));
    needs
}

/// For so long at least.
pub(crate) fn run(report: &mut Report, seconds: u32) {
    let what = "a fleet that is killed and suspended";
    let Some(venv) = Venv::with(report, "chaos", what, &[RANDFLAKE]) else {
        return;
    };
    CHAOS.run_with(report, |command| {
        command.env("RANDFLAKE_SERVE_PYTHON", venv.program("python"));
        command.env("RANDFLAKE_CHAOS_SECONDS", seconds.to_string());
    });
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    let minutes = apart::number(arguments, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    let report = Report::new(false);
    Ok(apart::run("chaos", &needs(), report, |report| {
        run(report, minutes * 60);
    }))
}
