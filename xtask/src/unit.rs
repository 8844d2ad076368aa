//! `unit`: the tests of each crate with all features, examples in the docs among them, and those of the tasks.

use crate::cargo::cargo;
use crate::matrix::host_tests;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let mut command = host_tests();
    command.arg("--no-fail-fast");
    // Those of `randflake-std` mostly wait.
    command.env("RUST_TEST_THREADS", "8");
    report.tests("libraries", &mut command);
    report.tests("xtask", &mut cargo(&["test", "--package", "xtask"]));
}
