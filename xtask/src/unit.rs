//! `unit`: the tests of each crate, examples in the docs among them. One crate at a time, since cargo unites the
//! features of crates it builds together.

use crate::cargo::cargo;
use crate::matrix::{LIBRARIES, Library};
use crate::report::Report;

const STD: &str = "randflake-std";

pub(crate) fn run(report: &mut Report) {
    for library in LIBRARIES {
        test(report, library.name, &[]);
        if !library.features.is_empty() {
            test_all_features(report, library);
        }
    }
    test(report, "xtask", &[]);
}

/// For `check`: with all features only, and without the one below.
pub(crate) fn light(report: &mut Report) {
    for library in LIBRARIES.iter().filter(|library| library.name != STD) {
        test_all_features(report, library);
    }
    test(report, "xtask", &[]);
}

/// For `check`: what mostly waits.
pub(crate) fn std(report: &mut Report) {
    for library in LIBRARIES.iter().filter(|library| library.name == STD) {
        test_all_features(report, library);
    }
}

fn test_all_features(report: &mut Report, library: &Library) {
    let features = library.all_features();
    test(report, library.name, &["--features", &features]);
}

fn test(report: &mut Report, package: &str, features: &[&str]) {
    let what = [&[package], features].concat().join(" ");
    let mut command = cargo(&["test", "--no-fail-fast", "--package", package]);
    if package == STD {
        // They mostly wait.
        command.env("RUST_TEST_THREADS", "4");
    }
    report.tests(&what, command.args(features));
}
