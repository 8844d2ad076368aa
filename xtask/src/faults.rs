//! `faults`: what a server suffers, as whole processes: a wall clock that jumps, and being killed.

use crate::cargo::cargo;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::LIBFAKETIME;

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&LIBFAKETIME)]
}

pub(crate) fn run(report: &mut Report) {
    let test = |name| {
        cargo(&[
            "test",
            "--package",
            "randflake-std",
            "--features",
            "cli",
            "--test",
            name,
        ])
    };
    if let Some(library) = report.tool(&LIBFAKETIME, "a clock that jumps") {
        report.tests(
            "faketime",
            test("faketime").env("RANDFLAKE_LIBFAKETIME", library),
        );
    }
    report.tests("crash", &mut test("crash"));
}
