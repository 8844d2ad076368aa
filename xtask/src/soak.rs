//! `soak`: ids of processes and servers under faults, as many as this machine can issue, on every store. The part `faults`
//! does so for seconds, on one without a server and on the one that takes longest to go on.

use std::fs;

use crate::apart::{self, Arguments, ExitResult};
use crate::bench::machine::caption;
use crate::cargo::{output_of, program, root};
use crate::engines::{COPIED_MACHINES, SOAK, SOAK_ON_REDIS};
use crate::matrix::optimised;
use crate::report::Report;
use crate::scratch::Scratch;

/// SQLite, static files, and four servers.
const STORES: u32 = 6;
const MINUTES: u32 = 60;
/// Written anew by each soak of record.
const RECORD: &str = "docs/soak.md";
/// Of the part `faults`; then until all has gone on.
const SECONDS: u32 = 3;

pub(crate) const HELP: &str = "an hour of ids on every store while processes and servers are killed, suspended, emptied and promoted\n\n\
    A sixth on each store. All ids are compared. With --record it also copies an emulated machine as `copies` does, and\n\
    writes what was done to docs/soak.md.";

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let minutes = apart::number(&mut typed, "--minutes", 1..=10_000)?;
    let is_of_record = typed.contains("--record");
    apart::nothing_else(typed)?;
    let minutes = minutes.unwrap_or(MINUTES);
    let mut needs = SOAK.needs();
    if is_of_record {
        needs.extend(COPIED_MACHINES.needs());
    }
    let run = |report: &mut Report| {
        let Some(scratch) = Scratch::reported(report, "soak") else {
            return;
        };
        let tables = scratch.path().join("tables");
        let commit = commit();
        let failed = report.failed();
        SOAK.run_with(report, |command| {
            optimised(2, command)
                .env(
                    "RANDFLAKE_SOAK_SECONDS",
                    (minutes * 60 / STORES).to_string(),
                )
                .env("RANDFLAKE_SOAK_RECORD", &tables)
                // What it takes of the disk is measured there.
                .env("TMPDIR", scratch.path());
        });
        if is_of_record {
            let of_soak = report.failed() - failed;
            let copies = scratch.path().join("copies");
            COPIED_MACHINES.run_with(report, |command| {
                command.env("RANDFLAKE_COPIES_RECORD", &copies);
            });
            let of_copies = report.failed() - failed - of_soak;
            let copies =
                verdict(of_copies) + "\n" + &fs::read_to_string(copies).unwrap_or_default();
            let tables = fs::read_to_string(&tables).unwrap_or_default();
            let text = text(
                minutes,
                &commit,
                &verdict(of_soak),
                copies.trim_end(),
                &tables,
            );
            let written = fs::write(root().join(RECORD), text);
            report.verdict(RECORD, written.map_err(|error| error.to_string()));
        }
    };
    Ok(apart::run("soak", &needs, Report::new(false), run))
}

/// What was tested, and whether anything differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| output_of(program("git", arguments).current_dir(root()));
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_default();
    let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]) != Some(String::new());
    let changed = if is_changed { ", with changes" } else { "" };
    format!("{commit}{changed}")
}

fn verdict(failed: usize) -> String {
    match failed {
        0 => "passed".to_owned(),
        failed => format!("**{failed} failed**"),
    }
}

fn text(minutes: u32, commit: &str, soak: &str, copies: &str, tables: &str) -> String {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().next().unwrap_or_default();
    let memory = memory.trim_start_matches("MemTotal:").trim();
    format!(
        "# Soak of record\n\n\
         Written by `cargo xtask soak --record`. On each store processes and `randflake serve` issue as fast as they can, one\n\
         process is killed each second, and one fault follows another; all have to go on after each. Each id that was\n\
         received is decrypted and kept as part of a run (node id, tick, first to last sequence) of the process or client\n\
         that got it, and all runs of a store are compared exactly. In smaller soaks beside it an id twice, runs of two\n\
         machines that overlap, and leases without one of the rules are planted, and have to be found.\n\n\
         - {}\n- memory of the machine: {memory}\n- commit: {commit}\n- {minutes} minutes, leases of 3 s\n\
         - the soak and what was planted: {soak}\n\
         - an emulated machine saved once and resumed twice, whose copies issue equal ids until one renews, as the README\n  \
         says, and never after (`cargo xtask copies`): {copies}\n\n{tables}",
        caption("soak --record"),
    )
}

/// Of the part `faults`.
pub(crate) fn run(report: &mut Report) {
    SOAK_ON_REDIS.run_with(report, |command| {
        command.env("RANDFLAKE_SOAK_SECONDS", SECONDS.to_string());
        let others = ["static::", "etcd::", "postgres::", "mariadb::"];
        let others = others.iter().flat_map(|store| ["--skip", store]);
        command.arg("--").args(others);
    });
}
