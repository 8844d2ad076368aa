//! `horizon`: what the model of the horizon's flash is asked beyond `test`: more that goes wrong in longer boots, and ten
//! million power cuts of devices that live by chance. Optimised: the search is long. What it finds is printed.

use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::cargo;
use crate::report::Report;

pub(crate) fn main(typed: Arguments) -> ExitResult {
    apart::nothing_else(typed)?;
    Ok(apart::run("horizon", &[], Report::new(false), |report| {
        let arguments = [
            "test",
            "--release",
            "--package=randflake-embedded",
            "--test=flash_model",
            "--",
            "--nocapture",
        ];
        let mut command = cargo(&arguments);
        report.tests("model", command.env("RANDFLAKE_HORIZON_LONG", "1"));
    }))
}
