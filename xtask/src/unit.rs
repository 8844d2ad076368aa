//! `unit`: the tests of each crate, examples in the docs among them. One crate at a time, since cargo unites the
//! features of crates it builds together.

use crate::cargo::cargo;
use crate::matrix::LIBRARIES;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in LIBRARIES {
        test(report, library.name, &[]);
        if !library.features.is_empty() {
            test(
                report,
                library.name,
                &["--features", &library.all_features()],
            );
        }
    }
    test(report, "xtask", &[]);
}

fn test(report: &mut Report, package: &str, features: &[&str]) {
    let what = [&[package], features].concat().join(" ");
    report.tests(
        &what,
        cargo(&["test", "--no-fail-fast", "--package", package]).args(features),
    );
}
