//! `bench memory`: what `randflake serve` holds under floods, and keeps of many bursts of a thousand connections.

use core::time::Duration;
use std::fs;
use std::path::{Path, absolute};
use std::time::Instant;

use super::floods::Floods;
use super::servers::{Load, Ours};
use super::{load, prepare, released};
use crate::apart;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{OPENSSL, REDIS_BENCHMARK, WRK};

const BURSTS: u32 = 300;
/// Of fewer nobody can tell whether growth ends.
const MIN_BURSTS: u32 = 30;
const NODE_IDS: &str = "64";

/// Each opens as many connections, and closes them.
const PIPELINED: &[&str] = &["-c", "1000", "-P", "64", "-n", "128000"];
const LONG_REPLIES: &[&str] = &["-c", "1000", "-P", "4", "-n", "4000"];
const HTTP: &[&str] = &["-t1", "-c1000", "-d1s"];

/// How much more the last third of the bursts may leave than the third before it, in hundredths.
const MORE: u64 = 5;

/// How long a flood goes on.
const FLOOD: Duration = Duration::from_secs(5);
/// The same, and bursts, where it is only seen that all of it still works.
const SHORT_FLOOD: Duration = Duration::from_secs(1);
const FEW_BURSTS: u32 = 3;

pub(crate) fn needs() -> Vec<Need> {
    [&REDIS_BENCHMARK, &WRK, &OPENSSL].map(Need::Tool).into()
}

pub(crate) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let (program, rest) = match arguments {
        [flag, path, rest @ ..] if flag == "--program" => (Some(absolute(path)), rest),
        rest => (None, rest),
    };
    let bursts = apart::number(rest, "--bursts", MIN_BURSTS..=100_000)?.unwrap_or(BURSTS);
    let load = match program {
        Some(_) => load(report),
        None => prepare(report),
    };
    let Some(load) = load else {
        return Ok(());
    };
    let program = program.unwrap_or_else(|| Ok(released()));
    let program = program.map_err(|error| error.to_string())?;
    flood(report, &program, FLOOD);
    let verdict = burst(&program, &load, bursts).and_then(|kept| grows_no_more(&kept));
    report.verdict("memory of the server", verdict);
    Ok(())
}

/// Of the part `serve`, with the program that its tests are built with.
pub(super) fn once(report: &mut Report, program: &Path, load: &Load) {
    flood(report, program, SHORT_FLOOD);
    let verdict = burst(program, load, FEW_BURSTS);
    report.verdict("memory of the server", verdict.map(drop));
}

fn flood(report: &mut Report, program: &Path, time: Duration) {
    let what = "memory of the server under floods";
    if let Some(openssl) = report.tool(&OPENSSL, what) {
        let openssl = &openssl;
        let floods = Floods {
            program,
            openssl,
            time,
        };
        report.verdict(what, floods.measure());
    }
}

/// What is kept after each burst, in KiB.
fn burst(program: &Path, load: &Load, bursts: u32) -> Result<Vec<u64>, String> {
    let scratch = Scratch::new("bench-memory").map_err(|error| error.to_string())?;
    let ours = Ours::start(program, &scratch, load, NODE_IDS)?;
    let begun = Instant::now();
    println!("before the first burst {} KiB", resident(&ours)?);
    let mut kept = Vec::new();
    for burst in 1..=bursts {
        load.redis(ours.resp, PIPELINED, &["INCR", "default"])?;
        let many = ["ID.NEXT", "default", "COUNT", "1000"];
        load.redis(ours.resp, LONG_REPLIES, &many)?;
        load.http(ours.http, HTTP, "count=1000")?;
        let now = resident(&ours)?;
        kept.push(now);
        if burst.is_power_of_two() || burst == bursts {
            let seconds = begun.elapsed().as_secs();
            println!("after burst {burst}, {seconds} s: {now} KiB");
        }
    }
    Ok(kept)
}

fn grows_no_more(kept: &[u64]) -> Result<(), String> {
    let thirds = kept.chunks(kept.len() / 3);
    let thirds: Vec<_> = thirds.take(3).map(median).collect();
    println!("medians of the thirds, in KiB: {thirds:?}");
    let most = thirds[1] * (100 + MORE) / 100;
    if thirds[2] > most {
        return Err(format!(
            "the last third of {} bursts left {} KiB, and the third before it {}: at most {MORE} % more is no growth",
            kept.len(),
            thirds[2],
            thirds[1]
        ));
    }
    Ok(())
}

fn median(kept: &[u64]) -> u64 {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    kept[kept.len() / 2]
}

/// The memory that the process has in use, as the system counts it.
fn resident(ours: &Ours) -> Result<u64, String> {
    status_kb(ours, "VmRSS:")
}

/// A number of the process's status.
pub(super) fn status_kb(ours: &Ours, name: &str) -> Result<u64, String> {
    let path = format!("/proc/{}/status", ours.running.id());
    let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{path} has no {name}"))
}
