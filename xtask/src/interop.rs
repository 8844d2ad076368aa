//! `interop`: ids exchanged with the published Python package, and decoded with numpy as `docs/data.md` does, in a virtual
//! environment made for the run.

use crate::matrix::separate_test;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::PYTHON;
use crate::venv::{NUMPY, RANDFLAKE, Venv};

const PANDAS: &str = "pandas==3.1.1";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(crate) fn run(report: &mut Report) {
    let what = "ids exchanged with the Python package and decoded with numpy";
    let Some(venv) = Venv::with(report, "interop", what, &[RANDFLAKE, NUMPY, PANDAS]) else {
        return;
    };
    let mut command = separate_test("interop");
    command.env("RANDFLAKE_INTEROP_PYTHON", venv.program("python"));
    report.tests("interop", &mut command);
}
