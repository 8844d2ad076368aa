//! `model`: the lease protocol, model-checked over millions of states. Optimised: the search is long.

use crate::cargo::cargo;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    report.tests(
        "model",
        &mut cargo(&[
            "test",
            "--package",
            "randflake-std",
            "--release",
            "--test",
            "model",
        ]),
    );
}
