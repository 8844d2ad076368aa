//! `miri`: tests in an interpreter which sees undefined behaviour, on this kind of machine and on a big-endian one.

use crate::cargo::nightly;
use crate::report::Report;
use crate::setup::Need;

/// Arguments of `cargo miri test`, and what the compiler is told. All for this machine are told the same, so that what
/// they stand on is built once.
const RUNS: &[(&[&str], &str)] = &[
    (
        &[
            "--package",
            "sparx64",
            "--all-features",
            "--test",
            "bulk",
            "--test",
            "modes",
            "--test",
            "properties",
            "--test",
            "secrecy",
            "--test",
            "vectors",
        ],
        AVX512,
    ),
    (&["--package", "randflake-core", "--lib"], AVX512),
    // What a handle's threads follow pointers to.
    (&["--package", "randflake-std", "--lib", "handle::"], AVX512),
    (
        &[
            "--package",
            "randflake-core",
            "--test",
            "vectors",
            "--target",
            BIG_ENDIAN,
        ],
        "",
    ),
];

/// The interpreter has the instruction sets that the build enables, and with AVX-512 all lesser ones.
const AVX512: &str = "-Ctarget-feature=+avx512f,+avx512bw,+avx512vbmi2";
const BIG_ENDIAN: &str = "s390x-unknown-linux-gnu";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Miri]
}

pub(crate) fn run(report: &mut Report) {
    for (arguments, flags) in RUNS {
        let mut command = nightly(&["cargo", "miri", "test", "--no-fail-fast"]);
        command
            .args(*arguments)
            // For property tests that choose no number of cases themselves; they read their regression files, too.
            .env("PROPTEST_CASES", "4")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation");
        if !flags.is_empty() {
            command.env("RUSTFLAGS", flags);
        }
        report.interpreted_tests(&[arguments, &[*flags][..]].concat().join(" "), &mut command);
    }
}
