//! `forgeries`: what the test of forged UUIDs is asked beyond `test`: 10^9 of them. Optimised: each is two blocks of the cipher.

use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::cargo;
use crate::report::Report;

pub(crate) fn main(typed: Arguments) -> ExitResult {
    apart::nothing_else(typed)?;
    Ok(apart::run("forgeries", &[], Report::new(false), |report| {
        let arguments = [
            "test",
            "--release",
            "--package=randflake-core",
            "--test=forgeries",
            "--",
            "--nocapture",
        ];
        let mut command = cargo(&arguments);
        report.tests("tags", command.env("RANDFLAKE_FORGERIES_LONG", "1"));
    }))
}
