//! `copies`: an emulated machine's state is saved once and resumed twice. No part of `test`: it brings an emulator and a
//! kernel for one question.

use crate::apart::{self, Arguments, ExitResult};
use crate::engines::{COPIED_MACHINES, MACHINE_PROGRAM};
use crate::report::Report;

pub(crate) fn main(typed: Arguments) -> ExitResult {
    apart::nothing_else(typed)?;
    let needs = COPIED_MACHINES.needs();
    let run = |report: &mut Report| COPIED_MACHINES.run(report);
    Ok(apart::run("copies", &needs, Report::new(false), run))
}

/// Of the part `faults`: what a machine runs, as a process of this one, and what compares the journals of two. The
/// machines are left out: an emulator takes a minute of CPU for each.
pub(crate) fn once(report: &mut Report) {
    MACHINE_PROGRAM.run_with(report, |command| {
        command.args(["--", "--skip", "resumed_"]);
    });
}
