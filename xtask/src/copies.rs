//! `copies`: an emulated machine's state is saved once and resumed twice. No part of `test`: it brings an emulator and a
//! kernel for one question.

use std::process::ExitCode;

use crate::engines::COPIED_MACHINES;
use crate::report::Report;
use crate::setup;

/// The subcommand, with what was typed behind it.
#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        let typed = arguments.join(" ");
        eprintln!("error: unknown arguments {typed}\n\nusage: cargo xtask copies");
        return ExitCode::from(2);
    }
    let mut report = Report::new(false);
    report.begin("setup");
    setup::prepare(&COPIED_MACHINES.needs(), &mut report);
    report.begin("copies");
    COPIED_MACHINES.run(&mut report);
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
