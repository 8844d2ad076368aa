//! Ids a second, beside Redis, with the program that loads it on the same machine.

use core::fmt::Write as _;
use core::time::Duration;
use std::path::Path;

use harness::redis::RedisServer;
use tempfile::TempDir;

use super::paced;
use super::servers::{Load, RandflakeServer};

pub(crate) const ROUNDS: u32 = 5;
/// Enough for 33 million ids a second in the Randflake layout.
const NODE_IDS: &str = "256";
/// Of an HTTP request.
const BATCH: u32 = 1_000;

/// How much is asked in a round.
pub(crate) struct Size {
    pipelined: &'static [&'static str],
    one_by_one: &'static [&'static str],
    batches: &'static [&'static str],
    /// At a fixed rate.
    paced: Duration,
}

pub(crate) const WHOLE: Size = Size {
    pipelined: &["-P", "64", "-n", "3000000"],
    one_by_one: &["-c", "50", "-n", "100000"],
    batches: &["-t1", "-c8", "-d4s"],
    paced: Duration::from_secs(5),
};

/// Enough to see that all of it still works.
pub(crate) const SHORT: Size = Size {
    pipelined: &["-P", "64", "-n", "6400"],
    one_by_one: &["-c", "50", "-n", "500"],
    batches: &["-t1", "-c2", "-d1s"],
    paced: Duration::from_secs(1),
};

/// What a round has measured: rows of the table, always the same.
type Round = Vec<(String, f64)>;

/// The table of the medians of some rounds.
pub(crate) fn measure(program: &Path, size: &Size, rounds: u32) -> String {
    let load = Load::find();
    let arguments = ["--node-ids", NODE_IDS].map(str::to_owned).into();
    let ours =
        RandflakeServer::start(program, TempDir::new().unwrap(), arguments, None).issuing(&load);
    // It keeps nothing on disk.
    let theirs = RedisServer::start_with(&["--appendonly", "no"]);
    let rounds: Vec<_> = (0..rounds)
        .map(|_| round(&load, size, &ours, theirs.port))
        .collect();
    let mut table = format!("medians of {} rounds\n\n", rounds.len());
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
    table
}

fn round(load: &Load, size: &Size, ours: &RandflakeServer, theirs: u16) -> Round {
    let mut rows = Round::new();
    for (name, port) in [("RESP", ours.resp), ("Redis", theirs)] {
        let rate = load.incr(port, size.pipelined);
        rows.push((format!("{name}: INCR, pipelines of 64, a second"), rate));
    }
    for (name, port) in [("RESP", ours.resp), ("Redis", theirs)] {
        let rate = load.incr(port, size.one_by_one);
        let what = "one INCR at a time, 50 clients";
        rows.push((format!("{name}: {what}, a second"), rate));
        let times = paced::incr(port, rate / 2.0, size.paced);
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
        let requests = load.http(ours.http, size.batches, &query);
        let ids = requests * f64::from(BATCH);
        rows.push((
            format!("HTTP: batches of {BATCH} as {what}, ids a second"),
            ids,
        ));
    }
    rows
}
