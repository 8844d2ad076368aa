//! `bench memory`: what `randflake serve` takes under bursts of connections, and keeps of them. Each kind of burst is
//! repeated against a server of its own, in the memory of a container where root may make one.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::{self, Command};

use super::container::{Container, LIMIT};
use super::floods::{ANSWERS, COMMANDS, Flood, HANDSHAKES, certify, open_files, token};
use super::servers::{Load, Ours, Settings};
use super::{load, prepare, released};
use crate::apart::{self, Arguments};
use crate::cargo::output_of;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{OPENSSL, REDIS_BENCHMARK, WRK};

/// Of fewer nobody can tell whether growth ends.
const BURSTS: u32 = 30;
const NODE_IDS: &str = "64";

/// Each opens as many connections, and closes them.
const PIPELINED: &[&str] = &["-c", "1000", "-P", "64", "-n", "128000"];
const LONG_REPLIES: &[&str] = &["-c", "1000", "-P", "4", "-n", "4000"];
/// Fewer: they are guests until their first request, for which there is room for 455.
const HTTP: &[&str] = &["-t1", "-c400", "-d1s"];

/// How much more the last third of the bursts may leave than the third before it, in hundredths.
const MORE: u64 = 5;

/// How long a flood goes on.
const FLOOD: Duration = Duration::from_secs(1);
/// The same, and bursts, where it is only seen that all of it still works.
const SHORT_FLOOD: Duration = Duration::from_millis(300);
const FEW_BURSTS: u32 = 2;

/// More than a flood has connections.
const FILES: &str = "--nofile=8192:";

/// What the connections of a burst do.
enum BurstKind {
    Flood(Flood),
    /// Commands of `redis-benchmark`.
    Redis(&'static [&'static str], &'static [&'static str]),
    /// Requests for ids of `wrk`.
    Http(&'static [&'static str], &'static str),
}

const KINDS: [(&str, BurstKind); 6] = [
    (
        "5,000 TLS handshakes of which 16 kB come",
        BurstKind::Flood(HANDSHAKES),
    ),
    (
        "331 commands of 1 MB without their last bytes",
        BurstKind::Flood(COMMANDS),
    ),
    (
        "60 answers of 100,000 ids that nobody takes",
        BurstKind::Flood(ANSWERS),
    ),
    (
        "1,000 connections with pipelines of 64 INCR",
        BurstKind::Redis(PIPELINED, &["INCR", "default"]),
    ),
    (
        "1,000 connections with arrays of 1,000 ids",
        BurstKind::Redis(LONG_REPLIES, &["ID.NEXT", "default", "COUNT", "1000"]),
    ),
    (
        "400 connections with HTTP batches of 1,000 ids",
        BurstKind::Http(HTTP, "count=1000"),
    ),
];

pub(crate) fn needs() -> Vec<Need> {
    [&REDIS_BENCHMARK, &WRK, &OPENSSL].map(Need::Tool).into()
}

pub(crate) fn run(report: &mut Report, mut typed: Arguments) -> Result<(), String> {
    let program = apart::path(&mut typed, "--program")?;
    let bursts = apart::number(&mut typed, "--bursts", BURSTS..=100_000)?.unwrap_or(BURSTS);
    apart::nothing_else(typed)?;
    let load = match program {
        Some(_) => load(report),
        None => prepare(report),
    };
    let Some(load) = load else {
        return Ok(());
    };
    let program = program.unwrap_or_else(released);
    measure(report, &program, &load, (bursts, FLOOD));
    Ok(())
}

/// Of the part `serve`, with the program that its tests are built with.
pub(super) fn once(report: &mut Report, program: &Path, load: &Load) {
    measure(report, program, load, (FEW_BURSTS, SHORT_FLOOD));
}

fn measure(report: &mut Report, program: &Path, load: &Load, (bursts, flood): (u32, Duration)) {
    let Some(openssl) = report.tool(&OPENSSL, "memory of the server") else {
        return;
    };
    let own = process::id().to_string();
    if output_of(Command::new("prlimit").args(["--pid", &own, FILES])).is_none() {
        let verdict = Err("prlimit does not allow as many connections".to_owned());
        report.verdict("memory of the server", verdict);
        return;
    }
    for (name, kind) in &KINDS {
        let subject = Subject {
            program,
            openssl: &openssl,
            load,
            flood,
        };
        let kept = subject.kept(name, kind, bursts);
        let verdict = kept.and_then(|kept| grows_no_more(&kept));
        report.verdict(&format!("memory of the server: {name}"), verdict);
    }
}

/// What is measured, and with what.
struct Subject<'a> {
    program: &'a Path,
    openssl: &'a Path,
    load: &'a Load,
    /// How long a flood goes on.
    flood: Duration,
}

impl Subject<'_> {
    /// What is kept after each burst, in KiB. Fails if it ever took more than the manifests allow.
    fn kept(&self, name: &str, kind: &BurstKind, bursts: u32) -> Result<Vec<u64>, String> {
        let scratch = Scratch::new("bench-memory").map_err(|error| error.to_string())?;
        let container = Container::make();
        let path = |name: &str| scratch.path().join(name).display().to_string();
        let mut arguments = Vec::new();
        let mut secret = String::new();
        if let BurstKind::Flood(flood) = kind {
            secret = token(self.program, &scratch)?;
            arguments.extend(["--tokens".to_owned(), path("tokens")]);
            if flood.is_encrypted {
                certify(self.openssl, &scratch)?;
                arguments.extend(["--tls-cert".to_owned(), path("server.pem")]);
                arguments.extend(["--tls-key".to_owned(), path("server.key")]);
            }
        }
        let settings = Settings {
            node_ids: NODE_IDS,
            arguments: &arguments,
            container: container.as_ref(),
        };
        let ours = match kind {
            BurstKind::Flood(_) => Ours::start_with(self.program, &scratch, &settings),
            _ => Ours::start_issuing(self.program, &scratch, self.load, &settings),
        }?;
        let place = match &container {
            Some(_) => "in a container's memory",
            None => "outside a container, which only root can make",
        };
        println!("{name}, {place}: at first {} KiB", resident(&ours)?);
        let before = open_files(&ours)?;
        let mut kept = Vec::new();
        for burst in 1..=bursts {
            match kind {
                BurstKind::Flood(flood) => {
                    flood.run(&ours, &secret, self.flood)?;
                    // Half a minute, where it is only seen that all of it still works.
                    if bursts >= BURSTS {
                        Flood::is_over(&ours, before)?;
                    }
                }
                BurstKind::Redis(how, words) => _ = self.load.redis(ours.resp, how, words)?,
                BurstKind::Http(how, query) => _ = self.load.http(ours.http, how, query)?,
            }
            let now = resident(&ours)?;
            kept.push(now);
            if burst == 1 || burst % 10 == 0 || burst == bursts {
                println!("    kept after burst {burst}: {now} KiB");
            }
        }
        let peak = status_kb(&ours, "VmHWM:")?;
        println!("    at most {peak} KiB");
        if peak << 10 > LIMIT {
            return Err(format!("{peak} KiB: a container has {} KiB", LIMIT >> 10));
        }
        Ok(kept)
    }
}

fn grows_no_more(kept: &[u64]) -> Result<(), String> {
    let len = kept.len();
    if len < BURSTS as usize {
        return Ok(());
    }
    let thirds = kept.chunks(len / 3).take(3).map(median);
    let thirds: Vec<_> = thirds.collect();
    println!("    medians of the thirds: {thirds:?} KiB");
    let most = thirds[1] * (100 + MORE) / 100;
    if thirds[2] > most {
        return Err(format!(
            "the last third of {len} bursts left {} KiB, and the third before it {}: at most {MORE} % more is no growth",
            thirds[2], thirds[1]
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

/// A number of the process's status. A process that was killed has none.
fn status_kb(ours: &Ours, name: &str) -> Result<u64, String> {
    let path = format!("/proc/{}/status", ours.running.id());
    let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{path} has no {name}"))
}
