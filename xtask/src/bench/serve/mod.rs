//! `bench serve`: ids a second of `randflake serve`, beside Redis, with the program that loads it on the same machine.

mod container;
mod floods;
pub(super) mod memory;
mod paced;
mod servers;

use core::fmt::Write as _;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use self::servers::{Load, Ours};
use super::machine::{caption, record};
use crate::apart::{self, Arguments};
use crate::cargo::{cargo, target};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{REDIS, REDIS_BENCHMARK, WRK};

const ROUNDS: u32 = 5;
/// Enough for 33 million ids a second in the Randflake layout.
const NODE_IDS: &str = "256";
/// Of an HTTP request.
const BATCH: u32 = 1_000;

/// How much is asked in a round.
struct Size {
    pipelined: &'static [&'static str],
    one_by_one: &'static [&'static str],
    batches: &'static [&'static str],
    /// At a fixed rate.
    paced: Duration,
}

const WHOLE: Size = Size {
    pipelined: &["-P", "64", "-n", "3000000"],
    one_by_one: &["-c", "50", "-n", "100000"],
    batches: &["-t1", "-c8", "-d4s"],
    paced: Duration::from_secs(5),
};

/// Enough to see that all of it still works.
const SHORT: Size = Size {
    pipelined: &["-P", "64", "-n", "6400"],
    one_by_one: &["-c", "50", "-n", "500"],
    batches: &["-t1", "-c2", "-d1s"],
    paced: Duration::from_secs(1),
};

/// What a round has measured: rows of the table, always the same.
type Round = Vec<(String, f64)>;

pub(super) fn needs() -> Vec<Need> {
    [&REDIS, &REDIS_BENCHMARK, &WRK].map(Need::Tool).into()
}

pub(super) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let rounds = apart::number(&mut typed, "--rounds", 1..=100)?.unwrap_or(ROUNDS);
    apart::nothing_else(typed)?;
    let Some(load) = prepare(report) else {
        return Ok(());
    };
    let Some(program) = report.tool(&REDIS, "the benchmark") else {
        return Ok(());
    };
    let table = measure(&released(), &program, &load, (&WHOLE, rounds));
    let verdict = table.and_then(|table| {
        println!("{table}");
        let path = record("-serve.txt")?;
        fs::write(&path, table).map_err(|error| format!("{}: {error}", path.display()))
    });
    report.verdict("ids of the server", verdict);
    Ok(())
}

/// Of the part `serve`: a short round, of the program that its tests are built with.
pub(crate) fn once(report: &mut Report) {
    let what = "the benchmark of the server";
    let tools = [&REDIS, &REDIS_BENCHMARK, &WRK].map(|tool| report.tool(tool, what));
    let [Some(redis), Some(benchmark), Some(wrk)] = tools else {
        return;
    };
    let (ours, load) = (target().join("debug/randflake"), Load { benchmark, wrk });
    let verdict = measure(&ours, &redis, &load, (&SHORT, 1));
    report.verdict(what, verdict.map(drop));
    memory::once(report, &ours, &load);
}

/// The release build of the tool.
fn released() -> PathBuf {
    target().join("release/randflake")
}

/// Builds the server, and finds what loads it.
fn prepare(report: &mut Report) -> Option<Load> {
    let mut build = cargo(&["build", "--release", "--package", "randflake"]);
    if report.check("build", &mut build) {
        load(report)
    } else {
        None
    }
}

/// Finds what loads servers.
fn load(report: &mut Report) -> Option<Load> {
    let [benchmark, wrk] = [&REDIS_BENCHMARK, &WRK].map(|tool| report.tool(tool, "the benchmark"));
    Some(Load {
        benchmark: benchmark?,
        wrk: wrk?,
    })
}

fn measure(
    ours: &Path,
    redis: &Path,
    load: &Load,
    (size, rounds): (&Size, u32),
) -> Result<String, String> {
    let scratch = Scratch::new("bench-serve").map_err(|error| error.to_string())?;
    let ours = Ours::start(ours, &scratch, load, NODE_IDS)?;
    let (_theirs, theirs) = servers::redis(&scratch, redis)?;
    let rounds: Result<Vec<_>, _> = (0..rounds)
        .map(|_| round(load, size, &ours, theirs))
        .collect();
    let rounds = rounds?;
    let mut table = format!(
        "{}; medians of {} rounds\n\n",
        caption("bench serve"),
        rounds.len()
    );
    for (row, (name, _)) in rounds
        .iter()
        .flat_map(|round| round.iter().enumerate())
        .take(rounds[0].len())
    {
        let mut figures: Vec<_> = rounds.iter().map(|round| round[row].1).collect();
        figures.sort_by(f64::total_cmp);
        let median = figures[figures.len() / 2];
        let digits = if median < 100.0 { 3 } else { 0 };
        // A string takes all that is written.
        _ = writeln!(table, "{name:52} {median:>14.digits$}");
    }
    Ok(table)
}

fn round(load: &Load, size: &Size, ours: &Ours, theirs: u16) -> Result<Round, String> {
    let mut rows = Round::new();
    for (name, port) in [("RESP", ours.resp), ("Redis", theirs)] {
        let rate = load.incr(port, size.pipelined)?;
        rows.push((format!("{name}: INCR, pipelines of 64, a second"), rate));
    }
    for (name, port) in [("RESP", ours.resp), ("Redis", theirs)] {
        let rate = load.incr(port, size.one_by_one)?;
        let what = "one INCR at a time, 50 clients";
        rows.push((format!("{name}: {what}, a second"), rate));
        let times = paced::incr(port, rate / 2.0, size.paced)?;
        let times = paced::SHARES.iter().zip(times);
        rows.extend(times.map(|((share, _), ms)| {
            (
                format!("{name}: the same at half that rate, {share} in ms"),
                ms,
            )
        }));
    }
    for (what, format) in [("JSON", "json"), ("bytes", "raw")] {
        let query = format!("count={BATCH}&format={format}");
        let requests = load.http(ours.http, size.batches, &query)?;
        let ids = requests * f64::from(BATCH);
        rows.push((
            format!("HTTP: batches of {BATCH} as {what}, ids a second"),
            ids,
        ));
    }
    Ok(rows)
}
