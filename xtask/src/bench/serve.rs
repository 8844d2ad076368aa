//! `bench serve`: ids a second of `randflake serve`, beside Redis, with the program that loads it on the same machine.

use core::fmt::Write as _;
use core::time::Duration;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use super::machine::{caption, record};
use crate::apart;
use crate::cargo::{cargo, output_of, target};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{REDIS, REDIS_BENCHMARK, WRK};

const ROUNDS: u32 = 5;
/// Enough for 33 million ids a second in the Randflake layout.
const NODE_IDS: &str = "256";
/// Of an HTTP request.
const BATCH: u32 = 1_000;
const START: Duration = Duration::from_secs(60);

pub(super) fn needs() -> Vec<Need> {
    [&REDIS, &REDIS_BENCHMARK, &WRK].map(Need::Tool).into()
}

/// A process that ends with the benchmark.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What loads the servers, and where they are.
struct Load {
    benchmark: PathBuf,
    wrk: PathBuf,
    resp: u16,
    http: u16,
    redis: u16,
}

/// A row of the table: how it is measured, in ids a second or milliseconds.
type Case = (&'static str, fn(&Load) -> Result<f64, String>);

const CASES: [Case; 8] = [
    ("RESP: INCR, pipelines of 64, ids/s", |load| {
        load.incr(load.resp, PIPELINED, RATE)
    }),
    ("Redis: INCR, pipelines of 64, increments/s", |load| {
        load.incr(load.redis, PIPELINED, RATE)
    }),
    ("RESP: one INCR at a time, 4 clients, p99 in ms", |load| {
        load.incr(load.resp, ONE_BY_ONE, P99)
    }),
    ("Redis: one INCR at a time, 4 clients, p99 in ms", |load| {
        load.incr(load.redis, ONE_BY_ONE, P99)
    }),
    ("RESP: one INCR at a time, 50 clients, ids/s", |load| {
        load.incr(load.resp, MANY, RATE)
    }),
    (
        "Redis: one INCR at a time, 50 clients, increments/s",
        |load| load.incr(load.redis, MANY, RATE),
    ),
    ("HTTP: batches of 1,000 as JSON, ids/s", |load| {
        load.http("json")
    }),
    ("HTTP: batches of 1,000 as bytes, ids/s", |load| {
        load.http("raw")
    }),
];

const PIPELINED: &[&str] = &["-P", "64", "-n", "3000000"];
const ONE_BY_ONE: &[&str] = &["-c", "4", "-n", "50000"];
const MANY: &[&str] = &["-c", "50", "-n", "100000"];

/// Columns of `redis-benchmark --csv`.
const RATE: usize = 1;
const P99: usize = 6;

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let rounds = apart::number(arguments, "--rounds", 1..=100)?.unwrap_or(ROUNDS);
    let mut build = cargo(&[
        "build",
        "--release",
        "--package",
        "randflake-std",
        "--features",
        "serve",
    ]);
    if !report.check("build", build.args(["--bin", "randflake"])) {
        return Ok(());
    }
    let tools = [&REDIS, &REDIS_BENCHMARK, &WRK].map(|tool| report.tool(tool, "the benchmark"));
    let [Some(redis), Some(benchmark), Some(wrk)] = tools else {
        return Ok(());
    };
    let measured = measure(redis, benchmark, wrk, rounds);
    let verdict = measured.and_then(|table| {
        println!("{table}");
        let path = record("-serve.txt")?;
        fs::write(&path, table).map_err(|error| format!("{}: {error}", path.display()))
    });
    report.verdict("ids of the server", verdict);
    Ok(())
}

fn measure(
    redis: PathBuf,
    benchmark: PathBuf,
    wrk: PathBuf,
    rounds: u32,
) -> Result<String, String> {
    let scratch = Scratch::new("bench-serve").map_err(|error| error.to_string())?;
    let [resp, http, free] = [free_port()?, free_port()?, free_port()?];
    let load = Load {
        benchmark,
        wrk,
        resp,
        http,
        redis: free,
    };
    let mut ours = Command::new(target().join("release/randflake"));
    ours.args(["serve", "--node-ids", NODE_IDS])
        .args(["--resp", &format!("127.0.0.1:{resp}")])
        .args(["--http", &format!("127.0.0.1:{http}")])
        .env("XDG_STATE_HOME", scratch.path());
    let mut theirs = Command::new(redis);
    theirs
        .args(["--bind", "127.0.0.1", "--port", &free.to_string()])
        .args(["--save", "", "--appendonly", "no"]);
    let _ours = start(&mut ours, scratch.path(), "ours", resp)?;
    let _theirs = start(&mut theirs, scratch.path(), "redis", free)?;
    wait_for_ids(&load)?;
    let mut figures = vec![Vec::new(); CASES.len()];
    for _ in 0..rounds {
        for ((_, case), figures) in CASES.iter().zip(&mut figures) {
            figures.push(case(&load)?);
        }
    }
    let mut table = format!("{}; medians of {rounds} rounds\n\n", caption("bench serve"));
    for ((name, _), mut figures) in CASES.iter().zip(figures) {
        figures.sort_by(f64::total_cmp);
        let median = figures[figures.len() / 2];
        let digits = if median < 100.0 { 3 } else { 0 };
        // A string takes all that is written.
        _ = writeln!(table, "{name:52} {median:>14.digits$}");
    }
    Ok(table)
}

impl Load {
    fn incr(&self, port: u16, how: &[&str], column: usize) -> Result<f64, String> {
        let mut command = Command::new(&self.benchmark);
        command.args(["-p", &port.to_string(), "--csv"]).args(how);
        let printed = output_of(command.args(["INCR", "default"]));
        let printed = printed.ok_or("redis-benchmark did not run to its end")?;
        let line = printed.lines().last().unwrap_or_default();
        let cell = line
            .split(',')
            .nth(column)
            .unwrap_or_default()
            .trim_matches('"');
        cell.parse()
            .map_err(|_| format!("redis-benchmark printed {line}"))
    }

    fn http(&self, format: &str) -> Result<f64, String> {
        let url = format!(
            "http://127.0.0.1:{}/v1/ids?count={BATCH}&format={format}",
            self.http
        );
        let printed = output_of(Command::new(&self.wrk).args(["-t1", "-c8", "-d4s", &url]));
        let printed = printed.ok_or("wrk did not run to its end")?;
        if printed.contains("Non-2xx") {
            return Err(format!("requests were refused: {printed}"));
        }
        let (_, rest) = printed.split_once("Requests/sec:").unwrap_or_default();
        let requests = rest
            .split_whitespace()
            .next()
            .and_then(|text| text.parse::<f64>().ok());
        let requests = requests.ok_or_else(|| format!("wrk printed {printed}"))?;
        Ok(requests * f64::from(BATCH))
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

/// Starts a server, and waits until it accepts.
fn start(command: &mut Command, folder: &Path, name: &str, port: u16) -> Result<Running, String> {
    let log = File::create(folder.join(name)).map_err(|error| error.to_string())?;
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let running = quiet.current_dir(folder).spawn().map(Running);
    let running = running.map_err(|error| format!("{name}: {error}"))?;
    until(&format!("{name} does not answer"), || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    })?;
    Ok(running)
}

/// The first leases take a moment.
fn wait_for_ids(load: &Load) -> Result<(), String> {
    until("the server has no ids", || {
        load.incr(load.resp, &["-n", "100"], RATE).is_ok()
    })
}

fn until(otherwise: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > START {
            return Err(otherwise.to_owned());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
