//! `soak`: ids of processes and servers under faults, as many as this machine can issue, on every
//! store. The part `faults` runs a round of all faults on SQLite and on Redis, with few processes.

use std::fs;

use crate::helpers::prelude::*;
use crate::parts::engines::{COPIED_MACHINES, SOAK, SOAK_ON_REDIS};

// The test program's own: how long a round of all faults takes on all stores.
#[path = "../../../../randflake-std/tool/tests/soak/schedule.rs"]
mod schedule;

const MINUTES: u32 = 60;
/// Of the test program.
const TIME: &str = "RANDFLAKE_SOAK_MINUTES";
/// Written anew by each soak of record.
const RECORD: &str = "docs/soak.md";

pub(crate) const HELP: &str = "an hour of ids on every store while processes and servers are killed, suspended, emptied and promoted\n\n\
    Each fault of a store happens at least once, so a time that is too short for that is refused. All ids are compared.\n\
    With --record it also copies an emulated machine as `copies` does, and writes what was done to docs/soak.md.";

use schedule::LEAST_MINUTES;

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let minutes = minutes_of(&mut typed)?;
    let is_of_record = typed.contains("--record");
    arguments::nothing_else(typed)?;
    let mut needs = SOAK.needs();
    if is_of_record {
        needs.extend(COPIED_MACHINES.needs());
    }
    Plan::of(needs, move |report| {
        let Some(scratch) = report.scratch("soak") else {
            return;
        };
        let [tables, copies] = ["tables", "copies"].map(|name| scratch.path().join(name));
        let commit = commit();
        let of_soak = failed_in(report, |report| {
            SOAK.run_with(report, |command| {
                optimised(2, command)
                    .env(TIME, minutes.to_string())
                    .env("RANDFLAKE_SOAK_RECORD", &tables)
                    // What it takes of the disk is measured there.
                    .env("TMPDIR", scratch.path());
            });
        });
        if is_of_record {
            let of_copies = failed_in(report, |report| {
                COPIED_MACHINES.run_with(report, |command| {
                    command.env("RANDFLAKE_COPIES_RECORD", &copies);
                });
            });
            let [tables, copies] =
                [tables, copies].map(|path| files::read(&path).unwrap_or_default());
            let copies = verdict(of_copies) + "\n" + &copies;
            let text = text(
                minutes,
                &commit,
                &verdict(of_soak),
                copies.trim_end(),
                &tables,
            );
            report.verdict(RECORD, files::write(&root().join(RECORD), text));
        }
    })
}

/// How much of this fails.
fn failed_in(report: &mut Report, run: impl FnOnce(&mut Report)) -> usize {
    let before = report.failed();
    run(report);
    report.failed() - before
}

/// At least a round of all faults.
fn minutes_of(typed: &mut Arguments) -> Result<u32, String> {
    let minutes = arguments::number(typed, "--minutes", 1..=10_000)?.unwrap_or(MINUTES);
    let least = LEAST_MINUTES;
    if minutes < least {
        return Err(format!(
            "--minutes {minutes}: some faults would not happen; a round of all of them on each store takes {least} minutes"
        ));
    }
    Ok(minutes)
}

fn verdict(failed: usize) -> String {
    match failed {
        0 => "passed".to_owned(),
        failed => format!("**{failed} failed**"),
    }
}

fn text(minutes: u32, commit: &str, soak: &str, copies: &str, tables: &str) -> String {
    let all = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let first = all.lines().next().unwrap_or_default();
    let memory = first.trim_start_matches("MemTotal:").trim();
    let (short, long) = (schedule::SHORT_TTL, schedule::LONG_TTL);
    format!(
        "# Soak of record\n\n\
         Written by `cargo xtask deep soak --record`. On each store processes and `randflake serve` issue as fast as they can, one\n\
         process is killed each second, and one fault follows another. Each fault of a store happens at least once, and every\n\
         source of ids has to go on after each. Beside them, each store but static files has the default TTL, and a kill each\n\
         five seconds: those are the columns of {long} s.\n\n\
         Ids of 64 bits, of 53 bits, of tagged UUIDs and of a counter are decrypted and kept as part of a run (node id, tick,\n\
         first to last sequence) of the process or client that got it, and all runs of a store are compared exactly, however\n\
         the soak ends. A process keeps its ids where a kill does not lose them: those that it had been given, and had not yet\n\
         written as runs, are compared too. In smaller soaks beside it an id twice, runs of two machines that overlap, leases\n\
         without one of the rules, a fault that does not happen, and a panic after ids that repeat are planted, and have to be\n\
         found.\n\n\
         - {}\n- memory of the machine: {memory}\n- commit: {commit}\n- {minutes} minutes, leases of {short} and {long} s\n\
         - the soak and what was planted: {soak}\n\
         - an emulated machine saved once and resumed twice, whose copies issue equal ids until one renews, as the README\n  \
         says, and never after (`cargo xtask deep copies`): {copies}\n\n{tables}",
        caption("deep soak --record"),
    )
}

/// Of the part `faults`.
pub(crate) fn run(report: &mut Report) {
    SOAK_ON_REDIS.run_with(report, |command| {
        command.env(TIME, "0");
        let others = "-- --skip static:: --skip etcd:: --skip postgres:: --skip mariadb::";
        command.args(others.split(' '));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_room_for_every_fault_is_refused() {
        let minutes =
            |minutes: u32| minutes_of(&mut arguments::typed(&format!("--minutes {minutes}")));
        assert_eq!(minutes_of(&mut arguments::typed("")), Ok(MINUTES));
        assert_eq!(minutes(LEAST_MINUTES), Ok(LEAST_MINUTES));
        let refused = minutes(LEAST_MINUTES - 1).unwrap_err();
        assert!(
            refused.ends_with(&format!("takes {LEAST_MINUTES} minutes")),
            "{refused}"
        );
    }
}
