//! `miri`: tests in an interpreter which sees undefined behaviour, on this kind of machine and on a big-endian one.

use crate::cargo::nightly;
use crate::report::Report;
use crate::setup::Need;

/// What is run: arguments of `cargo miri test`.
const RUNS: &[&[&str]] = &[
    &["--package", "sparx64", "--all-features"],
    &[
        "--package",
        "sparx64",
        "--test",
        "vectors",
        "--target",
        BIG_ENDIAN,
    ],
    &["--package", "randflake-core", "--lib"],
    &[
        "--package",
        "randflake-core",
        "--lib",
        "--target",
        BIG_ENDIAN,
    ],
];

const BIG_ENDIAN: &str = "s390x-unknown-linux-gnu";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Miri]
}

pub(crate) fn run(report: &mut Report) {
    for arguments in RUNS {
        let mut command = nightly(&["cargo", "miri", "test", "--no-fail-fast"]);
        command
            .args(*arguments)
            // For property tests that choose no number of cases themselves; they read their regression files, too.
            .env("PROPTEST_CASES", "4")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation");
        report.interpreted_tests(&arguments.join(" "), &mut command);
    }
}
