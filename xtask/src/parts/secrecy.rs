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

use crate::helpers::cargo::{cargo, program, target};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::VALGRIND;

pub(crate) fn needs() -> Vec<Need> {
    if is_supported() {
        vec![Need::Tool(&VALGRIND)]
    } else {
        Vec::new()
    }
}

/// Requests to valgrind are instructions, which the program has for one processor.
fn is_supported() -> bool {
    (OS, ARCH) == ("linux", "x86_64")
}

pub(crate) fn run(report: &mut Report) {
    if !is_supported() {
        return report.leave_out("what time and memory tell of a secret (needs Linux on x86-64)");
    }
    let mut build = cargo(&["build", "--release", "--package", "secrecy"]);
    // For the places of what is found.
    build.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    if report.check("build", &mut build) {
        time(report);
        let mut search = program(&binary(), &["memory"]);
        report.check("copies of keys in memory", &mut search);
    }
}

fn binary() -> String {
    let binary = target().join("release/secrecy");
    binary.to_string_lossy().into_owned()
}

fn time(report: &mut Report) {
    let Some(valgrind) = report.tool(&VALGRIND, "jumps and addresses that depend on a secret")
    else {
        return;
    };
    let Some(scratch) = report.scratch("secrecy") else {
        return;
    };
    let log = scratch.path().join("log");
    let mut look = program(&valgrind.to_string_lossy(), &["-q", "--error-limit=no"]);
    look.arg(format!("--log-file={}", log.display()));
    look.args([&*binary(), "time"]);
    if !report.check("jumps and addresses that depend on a secret", &mut look) {
        // With what is allowed, and what is planted.
        report.say(&fs::read_to_string(log).unwrap_or_default());
    }
}
