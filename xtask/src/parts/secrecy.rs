//! `secrecy`: an optimised program that uses secrets, whose sources are in `xtask/secrecy`.
//!
//! - Under valgrind, which reports each jump and each address that depends on a secret.
//! - As a process whose memory is searched for copies of a key after the key's owner was dropped.
//!
//! Leaks and copies are planted in it: a run in which they are not found fails.
//!
//! Valgrind's processor has AVX2 and SSE2, but neither AVX-512 nor SHA's instructions: what they
//! execute is not looked at.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::Path;

use crate::helpers::prelude::*;

pub(crate) fn needs() -> Vec<Need> {
    is_supported()
        .then_some(Need::Tool(&VALGRIND))
        .into_iter()
        .collect()
}

/// Requests to valgrind are instructions, which the program has for one processor.
fn is_supported() -> bool {
    (OS, ARCH) == ("linux", "x86_64")
}

pub(crate) fn run(report: &mut Report) {
    if !is_supported() {
        return report.leave_out("what time and memory tell of a secret (needs Linux on x86-64)");
    }
    let mut build = cargo("build --release --package secrecy");
    // For the places of what is found.
    build.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    if report.check("build", &mut build) {
        let binary = target().join("release/secrecy");
        time(report, &binary);
        report.check("copies of keys in memory", &mut program(binary, "memory"));
    }
}

fn time(report: &mut Report, binary: &Path) {
    let what = "jumps and addresses that depend on a secret";
    let Some(valgrind) = report.tool(&VALGRIND, what) else {
        return;
    };
    let Some(scratch) = report.scratch("secrecy") else {
        return;
    };
    let log = scratch.path().join("log");
    let mut look = program(valgrind, "-q --error-limit=no");
    look.arg(format!("--log-file={}", log.display()))
        .arg(binary)
        .arg("time");
    if !report.check(what, &mut look) {
        // With what is allowed, and what is planted.
        report.say(&fs::read_to_string(log).unwrap_or_default());
    }
}
