//! `unit`: the tests of each crate with all features, examples in the docs among them, those of the tasks, and each case
//! of the benchmarks once.

use crate::cargo::cargo;
use crate::matrix::host_tests;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let mut command = host_tests();
    command.arg("--no-fail-fast");
    // Those of `randflake-std` mostly wait.
    command.env("RUST_TEST_THREADS", "8");
    report.tests("libraries", &mut command);
    // Each case once, without measuring.
    let mut benchmarks = host_tests();
    report.check("benchmarks", benchmarks.args(["--bench", "*"]));
    report.tests("xtask", &mut cargo(&["test", "--package", "xtask"]));
}
