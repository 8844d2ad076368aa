//! `interop`: ids exchanged with the published Python package, in a virtual environment made for the run.

use crate::cargo::program;
use crate::matrix::separate_test;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::PYTHON;

const PACKAGE: &str = "randflake==2.1.0";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(crate) fn run(report: &mut Report) {
    let Some(python) = report.tool(&PYTHON, "ids exchanged with the Python package") else {
        return;
    };
    let scratch = match Scratch::new("interop") {
        Ok(scratch) => scratch,
        Err(error) => {
            report.verdict("temporary directory", Err(error.to_string()));
            return;
        }
    };
    let venv = scratch.path().to_string_lossy();
    if !report.check(
        "virtual environment",
        &mut program(&python.to_string_lossy(), &["-m", "venv", &venv]),
    ) {
        return;
    }
    let python = scratch.path().join("bin/python");
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
        PACKAGE,
    ];
    if !report.check(PACKAGE, &mut program(&python.to_string_lossy(), &install)) {
        return;
    }
    let mut command = separate_test("interop");
    report.tests("interop", command.env("RANDFLAKE_INTEROP_PYTHON", &python));
}
