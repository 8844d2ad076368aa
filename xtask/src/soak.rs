//! `soak`: an hour of killed holders and killed engines. No part of `test`: it ends when its time is up.

use std::process::ExitCode;

use crate::engines::SOAK;
use crate::report::Report;
use crate::setup;

const MINUTES: u32 = 60;
/// Told to the test.
const VARIABLE: &str = "RANDFLAKE_SOAK_MINUTES";

/// The subcommand, with what was typed behind it.
#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let minutes = match minutes(arguments) {
        Ok(minutes) => minutes,
        Err(message) => {
            eprintln!("error: {message}\n\nusage: cargo xtask soak [--minutes N]");
            return ExitCode::from(2);
        }
    };
    let mut report = Report::new(false);
    report.begin("setup");
    setup::prepare(&SOAK.needs(), &mut report);
    report.begin("soak");
    SOAK.run_with(&mut report, |command| {
        command.env(VARIABLE, minutes.to_string());
    });
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn minutes(arguments: &[String]) -> Result<u32, String> {
    match arguments {
        [] => Ok(MINUTES),
        [flag, minutes] if flag == "--minutes" => {
            let number = minutes
                .parse()
                .ok()
                .filter(|number| (1..=10_000).contains(number));
            number.ok_or_else(|| format!("--minutes {minutes}: 1 to 10000 are allowed"))
        }
        _ => Err(format!("unknown arguments {}", arguments.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_an_hour_or_what_was_asked_for() {
        let minutes = |typed: &str| {
            let typed: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
            minutes(&typed)
        };
        assert_eq!(minutes(""), Ok(MINUTES));
        assert_eq!(minutes("--minutes 5"), Ok(5));
        for wrong in [
            "--minutes 0",
            "--minutes 10001",
            "--minutes x",
            "--seconds 5",
        ] {
            assert!(minutes(wrong).is_err(), "{wrong}");
        }
    }
}
