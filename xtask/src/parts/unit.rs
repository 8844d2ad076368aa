//! `unit`: the tests of each crate with all features, examples in the docs among them, those of the
//! tasks, and each case of the benchmarks once.

use std::collections::BTreeSet;
use std::process::Command;

use crate::helpers::prelude::*;

pub(crate) fn run(report: &mut Report) {
    tests(report, &[]);
    // Each case once, without measuring.
    let mut benchmarks = host_tests();
    report.check("benchmarks", benchmarks.args(["--bench", "*"]));
}

/// All but benchmarks, and but programs and tests of some names. What is built together runs side
/// by side: most of these tests wait.
pub(crate) fn tests(report: &mut Report, left_out: &[&str]) {
    let mut build = host_tests();
    if !report.check("build", build.arg("--no-run")) {
        return;
    }
    let mut own = cargo("test --package xtask");
    while_building(&mut own);
    let mut groups = vec![
        ("units".to_owned(), host(&["--lib", "--bins"])),
        ("examples in docs".to_owned(), host(&["--doc"])),
        ("xtask".to_owned(), own),
    ];
    // `--test NAME` is the program of that name in each crate: the first group has them all.
    let mut taken = BTreeSet::new();
    for library in published() {
        let mut programs = library.test_programs();
        programs.retain(|name| !left_out.contains(&&**name) && taken.insert(name.clone()));
        let mut tests = host(&["--no-fail-fast"]);
        tests.args(programs.iter().flat_map(|name| ["--test", name]));
        // Without a name cargo would run all that there is.
        if !programs.is_empty() {
            groups.push((library.name.to_owned(), tests));
        }
    }
    for (_, tests) in &mut groups {
        tests.arg("--");
        tests.args(left_out.iter().flat_map(|name| ["--skip", name]));
    }
    report.tests_at_once(groups);
}

fn host(arguments: &[&str]) -> Command {
    let mut command = host_tests();
    in_threads(command.args(arguments));
    command
}

/// Many more than there are processors: most tests wait for leases to expire.
pub(crate) fn in_threads(command: &mut Command) -> &mut Command {
    command.env("RUST_TEST_THREADS", "24")
}
