//! `fuzz`: inputs found by coverage, against plain twins. No part of `test`: it ends when its time is up.

use std::process::ExitCode;

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
];

const SECONDS: u32 = 60;

/// The subcommand, with what was typed behind it.
#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let seconds = match seconds(arguments) {
        Ok(seconds) => seconds,
        Err(message) => {
            eprintln!("error: {message}\n\nusage: cargo xtask fuzz [--seconds N]");
            return ExitCode::from(2);
        }
    };
    let mut report = Report::new(false);
    report.begin("fuzz");
    run(&mut report, seconds);
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
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

fn seconds(arguments: &[String]) -> Result<u32, String> {
    match arguments {
        [] => Ok(SECONDS),
        [flag, seconds] if flag == "--seconds" => seconds
            .parse()
            .map_err(|_| format!("--seconds {seconds}: a whole number is allowed")),
        _ => Err(format!("unknown arguments {}", arguments.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_a_minute_or_what_was_asked_for() {
        let seconds = |typed: &str| {
            let typed: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
            seconds(&typed)
        };
        assert_eq!(seconds(""), Ok(SECONDS));
        assert_eq!(seconds("--seconds 5"), Ok(5));
        assert!(seconds("--seconds x").is_err());
        assert!(seconds("--minutes 5").is_err());
    }

    #[test]
    fn each_target_is_there() {
        for (package, target) in TARGETS {
            let path = format!("{package}/fuzz/fuzz_targets/{target}.rs");
            assert!(root().join(&path).is_file(), "{path}");
        }
    }
}
