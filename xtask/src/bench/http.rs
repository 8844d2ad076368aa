//! `bench http`: ids a second over HTTP, with wrk beside the server on the same processors.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::cargo::{cargo, output_of, program, target};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::WRK;

/// What a request asks for, how many ids that is, and the goal in ids a second.
const CASES: [(&str, u32, Option<f64>); 6] = [
    ("json", 1_000, Some(5e6)),
    ("text", 1_000, None),
    ("int", 1_000, None),
    ("raw", 1_000, Some(30e6)),
    ("raw", 10_000, None),
    ("json", 1, None),
];

/// Encrypted, and with more ids a second than are asked for.
const LAYOUT: &str = "encrypted:snowflake";

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&WRK)]
}

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    let seconds = match arguments {
        [] => "5",
        [name, seconds] if name == "--seconds" && seconds.parse::<u32>().is_ok_and(|n| n > 0) => {
            seconds
        }
        _ => return Err("--seconds N is allowed".to_owned()),
    };
    let Some(wrk) = report.tool(&WRK, "the benchmark") else {
        return Ok(());
    };
    let build = [
        "build",
        "--release",
        "--package",
        "randflake-std",
        "--features",
        "serve",
    ];
    if !report.check("build", cargo(&build).args(["--bin", "randflake"])) {
        return Ok(());
    }
    let measured = Scratch::new("bench-http").map_err(|error| error.to_string());
    let measured = measured.and_then(|scratch| {
        let server = Server::start(&scratch)?;
        println!(
            "{:6} {:>6} {:>14} {:>12} {:>10}",
            "format", "ids", "requests/s", "ids/s", "goal"
        );
        for (format, count, goal) in CASES {
            let url = format!(
                "http://{}/v1/ids?format={format}&count={count}",
                server.address
            );
            let mut load = program(
                &wrk.to_string_lossy(),
                &["-t1", "-c16", "-d", seconds, &url],
            );
            let said = output_of(&mut load).ok_or("wrk did not run to its end")?;
            let requests = requests_per_second(&said).ok_or(format!("wrk said:\n{said}"))?;
            let ids = requests * f64::from(count);
            let goal = goal
                .map(|goal| format!("{:.1} M", goal / 1e6))
                .unwrap_or_default();
            println!(
                "{format:6} {count:6} {requests:14.0} {:10.2} M {goal:>10}",
                ids / 1e6
            );
        }
        Ok(())
    });
    report.verdict("bench http", measured);
    Ok(())
}

/// None if there were refusals or errors.
fn requests_per_second(said: &str) -> Option<f64> {
    if said.contains("Non-2xx") || said.contains("Socket errors") {
        return None;
    }
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"));
    line?.trim().parse().ok()
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(scratch: &Scratch) -> Result<Self, String> {
        let mut process = Command::new(target().join("release/randflake"))
            .args([
                "serve",
                "--http",
                "127.0.0.1:0",
                "--layout",
                LAYOUT,
                "--node-ids",
                "16..=64",
            ])
            .env("XDG_STATE_HOME", scratch.path())
            .env("RANDFLAKE_KEY", "dffd6021bb2bd5b0af676290809ec3a5")
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let stderr = process.stderr.take().map(BufReader::new);
        let mut address = String::new();
        for line in stderr
            .into_iter()
            .flat_map(BufReader::lines)
            .map_while(Result::ok)
        {
            if let Some(at) = line.strip_prefix("randflake: http at ") {
                address = at.to_owned();
            }
            if line == "randflake: ready" {
                break;
            }
        }
        let server = Self { process, address };
        if server.address.is_empty() {
            return Err("the server did not start".to_owned());
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
