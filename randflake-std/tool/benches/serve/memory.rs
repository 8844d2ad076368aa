//! Memory of `randflake serve` under bursts of connections, and after them. Each kind of burst is
//! repeated against a server of its own, in the memory of a container where root may make one.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::{self, Command};

use harness::certificates::{Authority, Certified};
use tempfile::TempDir;

use super::container::{Container, LIMIT};
use super::floods::{ANSWERS, COMMANDS, Flood, HANDSHAKES, open_files, token};
use super::servers::{Load, RandflakeServer, output};

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

/// How much is asked of each kind.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) bursts: u32,
    /// How long a flood goes on.
    pub(crate) flood: Duration,
}

pub(crate) const WHOLE: Size = Size {
    bursts: BURSTS,
    flood: Duration::from_secs(1),
};

/// Enough to see that all of it still works.
pub(crate) const SHORT: Size = Size {
    bursts: 2,
    flood: Duration::from_millis(300),
};

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

/// Goes through all kinds. Fails if the server ever took more than the manifests allow, or does not
/// stop growing.
pub(crate) fn measure(program: &Path, size: &Size) {
    let load = Load::find();
    let own = process::id().to_string();
    let allowed = output(Command::new("prlimit").args(["--pid", &own, FILES]));
    assert!(
        allowed.is_some(),
        "prlimit does not allow as many connections"
    );
    let grown: Vec<_> = KINDS
        .iter()
        .filter_map(|(name, kind)| {
            let (kept, peak) = kept(program, &load, name, kind, size);
            growth(&kept, peak).map(|why| format!("{name}: {why}"))
        })
        .collect();
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

/// What is kept after each burst, and the most that was taken, in KiB.
fn kept(program: &Path, load: &Load, name: &str, kind: &BurstKind, size: &Size) -> (Vec<u64>, u64) {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new();
    let container = Container::make();
    let place = match &container {
        Some(_) => "in a container's memory",
        None => "outside a container, which only root can make",
    };
    let mut arguments = ["--node-ids", NODE_IDS].map(str::to_owned).to_vec();
    let mut secret = String::new();
    if let BurstKind::Flood(flood) = kind {
        secret = token(program, folder.path());
        arguments.extend(["--tokens", "tokens"].map(str::to_owned));
        if flood.is_encrypted {
            let Certified { certificate, key } = authority.server();
            // Its owner is the user that servers of stores run as.
            fs::copy(key, folder.path().join("server.key")).unwrap();
            arguments.push(format!("--tls-cert={}", certificate.display()));
            arguments.push("--tls-key=server.key".to_owned());
        }
    }
    let ours = RandflakeServer::start(program, folder, arguments, container);
    let ours = match kind {
        BurstKind::Flood(_) => ours,
        BurstKind::Redis(..) | BurstKind::Http(..) => ours.issuing(load),
    };
    println!(
        "{name}, {place}: at first {} KiB",
        status_kb(&ours, "VmRSS:")
    );
    let before = open_files(&ours);
    let mut kept = Vec::new();
    for burst in 1..=size.bursts {
        match kind {
            BurstKind::Flood(flood) => {
                flood.run(&ours, &secret, size.flood);
                // Half a minute, where it is only seen that all of it still works.
                if size.bursts >= BURSTS {
                    Flood::wait_for_end(&ours, before);
                }
            }
            BurstKind::Redis(how, words) => _ = load.redis(ours.resp, how, words).unwrap(),
            BurstKind::Http(how, query) => _ = load.http(ours.http, how, query),
        }
        let now = status_kb(&ours, "VmRSS:");
        kept.push(now);
        if burst == 1 || burst % 10 == 0 || burst == size.bursts {
            println!("    kept after burst {burst}: {now} KiB");
        }
    }
    let peak = status_kb(&ours, "VmHWM:");
    println!("    at most {peak} KiB");
    (kept, peak)
}

/// What is wrong with these figures.
fn growth(kept: &[u64], peak: u64) -> Option<String> {
    if peak << 10 > LIMIT {
        return Some(format!("{peak} KiB: a container has {} KiB", LIMIT >> 10));
    }
    let len = kept.len();
    if len < BURSTS as usize {
        return None;
    }
    let thirds: Vec<_> = kept.chunks(len / 3).take(3).map(median).collect();
    println!("    medians of the thirds: {thirds:?} KiB");
    let most = thirds[1] * (100 + MORE) / 100;
    (thirds[2] > most).then(|| {
        format!(
            "the last third of {len} bursts left {} KiB, and the third before it {}: at most {MORE} % more is no growth",
            thirds[2], thirds[1]
        )
    })
}

fn median(kept: &[u64]) -> u64 {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    kept[kept.len() / 2]
}

/// Memory of the process, as the system counts it. A process that was killed has none.
fn status_kb(ours: &RandflakeServer, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", ours.server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("the server has ended"))
}
