//! `fuzz`: inputs found by coverage, against plain twins. No part of `test`: it ends when its time is up.

use std::process::ExitCode;

use crate::apart;
use crate::cargo::{cargo, nightly, output_of, root};
use crate::report::Report;

/// The package whose folder `fuzz` has a target, and the target.
const TARGETS: &[(&str, &str)] = &[
    ("sparx64", "blocks"),
    ("randflake-core", "text"),
    ("randflake-core", "lines"),
    ("randflake-core", "bases"),
    ("randflake-core", "fields"),
    ("randflake-core", "sequencer"),
    ("randflake-std", "resp"),
];

const SECONDS: u32 = 60;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    let seconds = apart::number(arguments, "--seconds", 1..=u32::MAX)?.unwrap_or(SECONDS);
    let report = Report::new(false);
    Ok(apart::run("fuzz", &[], report, |report| {
        run(report, seconds);
    }))
}

fn run(report: &mut Report, seconds: u32) {
    if output_of(&mut nightly(&["cargo", "fuzz", "--version"])).is_none()
        && !report.check(
            "cargo-fuzz",
            &mut cargo(&["install", "--locked", "cargo-fuzz"]),
        )
    {
        return;
    }
    for (package, target) in TARGETS {
        let folder = root().join(package).join("fuzz");
        let mut fuzz = nightly(&["cargo", "fuzz", "run", "--fuzz-dir"]);
        fuzz.arg(&folder)
            .args([target, "--", "-timeout=10"])
            .arg(format!("-max_total_time={seconds}"));
        report.check(&format!("{package}: {target}"), &mut fuzz);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_there() {
        for (package, target) in TARGETS {
            let path = format!("{package}/fuzz/fuzz_targets/{target}.rs");
            assert!(root().join(&path).is_file(), "{path}");
        }
    }
}
