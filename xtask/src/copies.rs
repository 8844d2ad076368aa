//! `copies`: an emulated machine's state is saved once and resumed twice. No part of `test`: it brings an emulator and a
//! kernel for one question.

use std::process::ExitCode;

use crate::apart;
use crate::engines::COPIED_MACHINES;
use crate::report::Report;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    let needs = COPIED_MACHINES.needs();
    let run = |report: &mut Report| COPIED_MACHINES.run(report);
    Ok(apart::run("copies", &needs, Report::new(false), run))
}
