//! `chaos`: what processes, servers and the engine of a whole fleet go through. The part `serve` does each once, on one
//! engine.

use crate::apart::{self, Arguments, ExitResult};
use crate::engines::{CHAOS, CHAOS_ON_POSTGRES, Test};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{RANDFLAKE, Venv};

const ENGINES: u32 = 4;
const MINUTES: u32 = 8;

/// Of the part `serve`.
pub(crate) fn needs() -> Vec<Need> {
    needs_of(&CHAOS_ON_POSTGRES)
}

pub(crate) fn run(report: &mut Report) {
    run_for(report, &CHAOS_ON_POSTGRES, &["postgres::"], 0);
}

fn needs_of(test: &Test) -> Vec<Need> {
    let mut needs = test.needs();
    needs.push(Need::Tool(&PYTHON));
    needs
}

/// For so long at least on each engine.
fn run_for(report: &mut Report, test: &Test, only: &[&str], seconds: u32) {
    let what = "a fleet that is killed and suspended";
    let Some(venv) = Venv::with(report, "chaos", what, &[RANDFLAKE]) else {
        return;
    };
    test.run_with(report, |command| {
        command.env("RANDFLAKE_SERVE_PYTHON", venv.program("python"));
        command.env("RANDFLAKE_CHAOS_SECONDS", seconds.to_string());
        command.arg("--").args(only);
    });
}

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let minutes = apart::number(&mut typed, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    apart::nothing_else(typed)?;
    let run = |report: &mut Report| run_for(report, &CHAOS, &[], minutes * 60 / ENGINES);
    let needs = needs_of(&CHAOS);
    Ok(apart::run("chaos", &needs, Report::new(false), run))
}
