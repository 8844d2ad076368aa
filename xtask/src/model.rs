//! `model`: the lease protocol, model-checked over millions of states. Optimised: the search is long.

use crate::cargo::{NOT_AT_EACH_EDIT, OPTIMISED, cargo};
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let mut command = cargo(&["test", "--package", "randflake-std", "--test", "model"]);
    report.tests(
        "model",
        command
            .args(["--config", "profile.test.opt-level=3"])
            .args(OPTIMISED)
            .envs(NOT_AT_EACH_EDIT),
    );
}
