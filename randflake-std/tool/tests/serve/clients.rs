//! Clients as people install them: redis-cli and redis-benchmark of Debian, redis-py of `PyPI`,
//! ioredis of npm.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use harness::program;
use serde_json::{Value, json};

use crate::server::{Home, Server};

pub(crate) fn redis_cli(port: u16) -> Command {
    let mut command = Command::new(program("RANDFLAKE_REDIS_CLI"));
    command.args(["-p", &port.to_string()]);
    command
}

fn printed(output: Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn redis_cli_and_redis_benchmark() {
    let home = Home::new();
    let token = home.token("cli", "ids,admin", "*", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut command = redis_cli(server.port());
    // Not among the arguments.
    command.env("REDISCLI_AUTH", &token);
    let ids = printed(
        command
            .args(["-3", "ID.NEXT", "default", "COUNT", "3"])
            .output()
            .unwrap(),
    );
    assert_eq!(ids.lines().count(), 3, "{ids}");
    let mut benchmark = Command::new(program("RANDFLAKE_REDIS_BENCHMARK"));
    let port = server.port().to_string();
    benchmark.args([
        "-p", &port, "-a", &token, "-n", "20000", "-c", "10", "-P", "64", "--csv",
    ]);
    let told = printed(benchmark.args(["INCR", "default"]).output().unwrap());
    assert!(told.contains("\"INCR default\","), "{told}");
    let info = printed(
        redis_cli(server.port())
            .env("REDISCLI_AUTH", &token)
            .arg("INFO")
            .output()
            .unwrap(),
    );
    let (_, issued) = info.split_once("ready=1,issued=").unwrap();
    // It sends whole pipelines, and so a few more.
    assert!(issued.trim().parse::<u64>().unwrap() >= 20_003, "{info}");
    show_statistics(&server, &token);
}

/// A monitor of Redis', which takes a field that is missing for the lowest number.
fn show_statistics(server: &Server, token: &str) {
    let mut monitor = redis_cli(server.port())
        .env("REDISCLI_AUTH", token)
        .args(["--stat", "-i", "0.01"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(monitor.stdout.take().unwrap()).lines();
    // It writes when its buffer is full.
    let lines: Vec<_> = lines.map_while(Result::ok).take(10).collect();
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    let shown = lines.last().unwrap();
    assert!(!shown.contains("9223372036"), "{lines:?}");
    let memory = shown.split_ascii_whitespace().nth(1).unwrap();
    assert!(
        memory.starts_with(|digit: char| digit.is_ascii_digit()),
        "{lines:?}"
    );
}

/// Runs a client's program, which prints what it saw as one JSON object.
fn run(mut command: Command, server: &Server, token: &str, tls: bool) -> Value {
    let settings = json!({"port": server.port(), "token": token, "tls": tls});
    command.env("RANDFLAKE_SERVER", settings.to_string());
    let told = printed(command.output().unwrap());
    serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"))
}

fn check(seen: &Value) {
    let ids: BTreeSet<_> = seen["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2_000, "of 2,000 ids {} differ", ids.len());
    assert_eq!(seen["batch"], 1_000);
    assert_eq!(seen["inspected_node"], seen["node"]);
    assert_eq!(seen["renewed"], true);
    assert_eq!(seen["refused"], "NOPERM");
    assert_eq!(seen["unknown"], "WRONGPASS");
}

fn served() -> (Server, String) {
    let home = Home::new();
    let token = home.token("client", "ids,leases,inspect", "default", &[]);
    (Server::start_with(home, &["--tokens", "tokens"]), token)
}

#[test]
fn redis_py() {
    let (server, token) = served();
    for version in ["2", "3"] {
        let mut command = Command::new(program("RANDFLAKE_SERVE_PYTHON"));
        command.args(["-c", include_str!("redis_py.py"), version]);
        check(&run(command, &server, &token, false));
    }
}

/// A client that keeps replies would issue one id again and again.
#[test]
fn redis_py_in_modes_that_are_not_served() {
    let (server, token) = served();
    let mut command = Command::new(program("RANDFLAKE_SERVE_PYTHON"));
    command.args(["-c", include_str!("redis_py_modes.py")]);
    let told = run(command, &server, &token, false);
    for (mode, said) in [
        ("cached", "each reply is a new id"),
        ("cluster", "Cluster mode is not enabled"),
        ("sentinel", "unknown command"),
    ] {
        let message = told[mode].as_str().unwrap_or_default();
        assert!(message.contains(said), "{mode}: {told}");
    }
}

#[test]
fn ioredis() {
    let (server, token) = served();
    let modules = program("RANDFLAKE_SERVE_NODE_MODULES");
    let mut command = Command::new(program("RANDFLAKE_NODE"));
    command
        .current_dir(modules)
        .args(["-e", include_str!("ioredis.js")]);
    check(&run(command, &server, &token, false));
}

/// A program of the guides for clients, against a server with both protocols.
fn example(interpreter: &str, name: &str, has_tokens: bool) -> BTreeSet<String> {
    let home = Home::new();
    let token = home.token("client", "ids,leases", "default", &[]);
    let tokens: &[_] = if has_tokens {
        &["--tokens", "tokens"]
    } else {
        &[]
    };
    let server = Server::start_with(home, &[&["--http", "127.0.0.1:0"], tokens].concat());
    let log = server.home().log();
    let (_, http) = log.split_once("http at ").unwrap();
    let url = format!("http://{}", http.lines().next().unwrap());
    let key = std::fs::read_to_string(server.home().path("state/randflake/key")).unwrap();
    let mut command = Command::new(program(interpreter));
    command
        .arg(examples().join(name))
        .env("RANDFLAKE_RESP_PORT", server.port().to_string())
        .env("RANDFLAKE_URL", url)
        .env("RANDFLAKE_KEY", key.trim())
        // Nothing is left beside the example.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if has_tokens {
        command.env("RANDFLAKE_TOKEN", token);
    }
    let told = printed(command.output().unwrap());
    told.lines().map(str::to_owned).collect()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/clients")
}

#[test]
fn redis_py_as_in_the_example() {
    for has_tokens in [true, false] {
        let ids = example("RANDFLAKE_SERVE_PYTHON", "python/ids.py", has_tokens);
        assert_eq!(ids.len(), 1_001);
    }
}

#[test]
fn redis_py_s_neighbour_randflake_under_leases() {
    let ids = example("RANDFLAKE_SERVE_PYTHON", "python/leases.py", true);
    assert_eq!(ids.len(), 1_000);
}

#[test]
fn redis_py_in_a_service_with_fastapi() {
    let ids = example("RANDFLAKE_SERVE_PYTHON", "python/orders_test.py", true);
    assert_eq!(ids.len(), 2);
}

/// Copies of programs where the modules are found that they import.
fn beside_modules(names: &[&str]) -> PathBuf {
    let modules = program("RANDFLAKE_SERVE_NODE_MODULES");
    for name in names {
        std::fs::copy(examples().join("node").join(name), modules.join(name)).unwrap();
    }
    modules.join(names[0])
}

#[test]
fn ioredis_as_in_the_example() {
    let copy = beside_modules(&["ids.mjs"]);
    let ids = example("RANDFLAKE_NODE", copy.to_str().unwrap(), true);
    assert_eq!(ids.len(), 1_001);
}

#[test]
fn ioredis_in_a_service_with_express() {
    let copy = beside_modules(&["orders.test.mjs", "orders.mjs"]);
    let ids = example("RANDFLAKE_NODE", copy.to_str().unwrap(), true);
    assert_eq!(ids.len(), 2);
}
