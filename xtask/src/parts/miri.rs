//! `miri`: tests of what is `unsafe`, and of threads, in an interpreter which sees undefined
//! behaviour.

use crate::helpers::prelude::*;

/// Arguments of `cargo miri test`.
const RUNS: &[&str] = &[
    // The modes `cbc` and `ctr` call what the others of their program do, a hundred times over.
    "--package sparx64 --all-features --test bulk --test modes --test secrecy --test vectors -- --skip cbc --skip ctr",
    // Without what has neither pointers nor threads, and is arithmetic.
    "--package randflake-core --lib -- --skip feistel:: --skip horizon:: --skip tagged::",
    // What a handle's threads follow pointers to. Without features, as no other test runs. What the
    // keeper decides is left to other tests: it changes the same pointers as the rest, and is most
    // of the work. `scale` has none.
    "--package randflake-std --lib handle:: -- --skip handle::keeper:: --skip handle::scale::",
];

/// The interpreter has the instruction sets that the build enables, and with AVX-512 all lesser
/// ones. All are told the same, so that what they stand on is built once.
const AVX512: &str = "-Ctarget-feature=+avx512f,+avx512bw,+avx512vbmi2";

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Miri]
}

pub(crate) fn run(report: &mut Report) {
    for arguments in RUNS {
        let mut command = nightly("cargo miri test --no-fail-fast");
        command
            .args(arguments.split(' '))
            // For property tests that choose no number of cases themselves; they read their
            // regression files, too.
            .env("PROPTEST_CASES", "4")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("RUSTFLAGS", AVX512);
        report.interpreted_tests(arguments, &mut command);
    }
}
