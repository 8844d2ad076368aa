//! `DuckDB`: its macros, in a virtual environment with its Python package.

use crate::helpers::matrix::separate_test;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::PYTHON;
use crate::helpers::venv::Venv;

/// For each version of Python on Linux and macOS.
const DUCKDB: &str = include_str!("duckdb.txt");

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(super) fn run(report: &mut Report) {
    let what = "macros in DuckDB";
    let Some(venv) = Venv::with(report, "duckdb", what, &[DUCKDB]) else {
        return;
    };
    let mut command = separate_test("sql");
    command
        .env("RANDFLAKE_DUCKDB_PYTHON", venv.program("python"))
        .args(["--", "duckdb::"]);
    report.tests(what, &mut command);
}
