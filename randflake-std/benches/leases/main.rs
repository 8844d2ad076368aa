//! Cost of leases on each engine, with durable settings and 131,072 node ids: how long an acquire
//! takes when 0, 50, 99 and 99.9 % of them are leased, and its refusal when all are; how many
//! renewals and acquires 16 clients get answered in a second; many node ids at once; what holders
//! cost that look at their leases; the list; and bytes.
//!
//! `cargo xtask bench leases` runs it, and says where the engines' programs are; as a test, which
//! goes through all of it with few node ids, it takes SQLite alone unless it is told them. Each
//! engine is started in a temporary folder, on free ports. All occupancies take turns, in
//! namespaces of their own; beside them stands what a round trip and the disk take alone.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::print_stderr,
    reason = "it takes minutes, and tells how far it is"
)]

mod clients;
mod disk;
mod engine;
mod figures;
mod full;
mod leases;
mod looks;
mod measure;
mod starters;
mod table;

use std::path::PathBuf;
use std::{env, fs};

use engine::{Engine, Kind, Size};
use figures::Figures;

/// Of each time that is measured, unless told.
const ROUNDS: u32 = 1_000;

/// Who is told of this server is told of all.
const SERVERS: &str = "RANDFLAKE_REDIS_SERVER";

struct Options {
    is_bench: bool,
    rounds: u32,
    engines: Vec<Kind>,
    /// One part alone: to compare two builds in a minute.
    only: Option<String>,
    csv: Option<PathBuf>,
    json: Option<PathBuf>,
    table: Option<PathBuf>,
    /// When, where and how: the record's first line.
    caption: String,
}

impl Options {
    fn read() -> Self {
        let mut options = Self {
            is_bench: false,
            rounds: ROUNDS,
            engines: Kind::all(),
            only: None,
            csv: None,
            json: None,
            table: None,
            caption: String::new(),
        };
        let mut arguments = env::args().skip(1);
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().unwrap();
            match name.as_str() {
                "--rounds" => options.rounds = value().parse().unwrap(),
                "--engine" => options.engines = vec![Kind::named(&value()).unwrap()],
                "--only" => options.only = Some(value()),
                "--csv" => options.csv = Some(value().into()),
                "--json" => options.json = Some(value().into()),
                "--table" => options.table = Some(value().into()),
                "--caption" => options.caption = value(),
                // Without it, it is run as a test.
                "--bench" => options.is_bench = true,
                // What the other benchmarks are told.
                _ => {}
            }
        }
        options
    }
}

fn main() {
    let mut options = Options::read();
    let mut size = Size::whole(options.rounds);
    if !options.is_bench {
        size = Size::SHORT;
        options
            .engines
            .retain(|kind: &Kind| matches!(kind, Kind::Files) || env::var_os(SERVERS).is_some());
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    let load = load.split(' ').next().unwrap();
    let disk = disk::description();
    let caption = format!("{}; load at the beginning {load}; {disk}", options.caption);
    let mut figures = Figures::new(caption);
    for kind in options.engines {
        let engine = Engine::start(kind, size);
        let is_wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
        if is_wanted("starters") {
            starters::measure(&engine, &mut figures);
        }
        if is_wanted("looks") {
            looks::measure(&engine, &mut figures);
        }
        if options.only.is_none() {
            measure::measure(&engine, &mut figures);
        }
    }
    for (path, text) in [
        (options.csv, figures.csv()),
        (options.json, figures.json()),
        (options.table, table::table(&figures)),
    ] {
        if let Some(path) = path {
            fs::write(path, text).unwrap();
        }
    }
}
