//! `copies`: an emulated machine's state is saved once and resumed twice. No part of `test`: it brings an emulator and a
//! kernel for one question.

use std::process::ExitCode;

use crate::apart;
use crate::engines::COPIED_MACHINES;
use crate::matrix::separate_test;
use crate::report::Report;

const PLANTED: &str = "what_repeats_where_it_must_not_is_found";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    let needs = COPIED_MACHINES.needs();
    let run = |report: &mut Report| COPIED_MACHINES.run(report);
    Ok(apart::run("copies", &needs, Report::new(false), run))
}

/// Of the part `faults`: that repetitions are found where they are planted. The machines are left out: an emulator takes a
/// minute of CPU for each.
pub(crate) fn once(report: &mut Report) {
    let mut planted = separate_test("copied_machines");
    planted.args(["--", "--exact", PLANTED]);
    report.tests("copies", &mut planted);
}
