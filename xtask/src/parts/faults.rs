//! `faults`: what befalls whole processes and the engines that they lease from: being killed, being
//! suspended, a wall clock that jumps, a network that fails, a power cut.

use crate::helpers::prelude::*;
use crate::parts::deep::soak;
use crate::parts::engines;

/// What the names of scenarios begin with that need the tool.
const NEEDS_FAKETIME: &str = "wall_clocks";

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = engines::FAULTS.needs();
    needs.extend(engines::OUTAGES.needs());
    needs.push(Need::Tool(&LIBFAKETIME));
    needs
}

pub(crate) fn run(report: &mut Report) {
    let library = report.tool(&LIBFAKETIME, NEEDS_FAKETIME);
    for program in ["processes", "kills"] {
        let mut command = separate_test(program);
        match &library {
            Some(library) => command.env("RANDFLAKE_LIBFAKETIME", library),
            None => command.args(["--", "--skip", NEEDS_FAKETIME]),
        };
        report.tests(program, &mut command);
    }
    engines::FAULTS.run(report);
    engines::OUTAGES.run(report);
    soak::run(report);
    // What a machine runs, as a process of this one, and what compares the journals of two. The
    // machines are left to `deep copies`: an emulator takes a minute of CPU for each.
    engines::MACHINE_PROGRAM.run_with(report, |command| {
        command.args(["--", "--skip", "resumed_"]);
    });
}
