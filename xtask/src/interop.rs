//! `interop`: ids exchanged with the published Python package, and decoded with numpy as `docs/data.md` does, in a virtual
//! environment made for the run.

use crate::matrix::separate_test;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{RANDFLAKE, Venv};

/// What the function of the guide needs.
const NOTEBOOK: [&str; 2] = ["numpy==2.4.6", "pandas==3.1.1"];

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(crate) fn run(report: &mut Report) {
    let what = "ids exchanged with the Python package and decoded with numpy";
    let packages = [RANDFLAKE, NOTEBOOK[0], NOTEBOOK[1]];
    let Some(venv) = Venv::with(report, "interop", what, &packages) else {
        return;
    };
    let mut command = separate_test("interop");
    command.env("RANDFLAKE_INTEROP_PYTHON", venv.program("python"));
    report.tests("interop", &mut command);
}
