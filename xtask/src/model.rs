//! `model`: the lease protocol, model-checked over millions of states. Optimised: the search is long.

use crate::cargo::{OPTIMISED, cargo};
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let mut command = cargo(&["test", "--package", "randflake-std", "--test", "model"]);
    report.tests(
        "model",
        command
            .args(["--config", "profile.test.opt-level=3"])
            .args(OPTIMISED),
    );
}
