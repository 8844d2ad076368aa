//! `serve`: the server of the command line tool, with clients of Debian, `PyPI` and npm, which are
//! installed for the run.

use std::path::Path;
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::engines::{CHAOS_ON_POSTGRES, LOADED_SERVER, Test};

const REDIS_PY: &str =
    "redis==8.1.0 --hash=sha256:a4fe1aac3d3b3cc791d4b3d5931c5a956045dc951ee74d1c913ee3ac4d2ee9fb";

/// A framework and its test client, of redis-py's example.
const FASTAPI: &str = include_str!("fastapi.txt");

/// All with their hashes, so `pip` brings nothing that is not named there.
const SCHEMATHESIS: &str = include_str!("schemathesis.txt");

/// Tools, the variables that tell tests where they are, and the tests that are skipped without.
const TOOLS: [(&Tool, &str, &[&str]); 5] = [
    (&REDIS, "RANDFLAKE_REDIS_SERVER", &["incidents::"]),
    (&REDIS_CLI, "RANDFLAKE_REDIS_CLI", &["redis_cli", "tls"]),
    (
        &REDIS_BENCHMARK,
        "RANDFLAKE_REDIS_BENCHMARK",
        &["redis_cli"],
    ),
    (&OPENSSL, "RANDFLAKE_OPENSSL", &["openssl"]),
    (&POSTGRES, "RANDFLAKE_POSTGRES", &["came_back_empty"]),
];

pub(crate) fn needs() -> Vec<Need> {
    let tools = TOOLS.map(|(tool, ..)| Need::Tool(tool)).to_vec();
    [
        tools,
        LOADED_SERVER.needs(),
        page_needs(),
        CHAOS_ON_POSTGRES.needs(),
    ]
    .concat()
}

/// Of the operators' page, and of requests that are made.
pub(crate) fn page_needs() -> Vec<Need> {
    [&NODE, &NPM, &CHROMIUM, &PYTHON].map(Need::Tool).into()
}

pub(crate) fn run(report: &mut Report) {
    let Some(scratch) = report.scratch("serve") else {
        return;
    };
    let mut tests = separate_test("serve");
    tests.arg("--");
    for (tool, variable, skipped) in TOOLS {
        match report.tool(
            tool,
            &format!("the server's tests {}", skipped.join(" and ")),
        ) {
            Some(path) => _ = tests.env(variable, path),
            None => skip(&mut tests, skipped),
        }
    }
    let what = "the server's test redis_py";
    let packages = [REDIS_PY, RANDFLAKE, FASTAPI];
    let python = Venv::with(report, "serve-python", what, &packages);
    match &python {
        Some(venv) => _ = tests.env("RANDFLAKE_SERVE_PYTHON", venv.program("python")),
        None => skip(&mut tests, &["redis_py"]),
    }
    let what = "the server's test ioredis";
    match report.tool(&NODE, what) {
        Some(node) if npm::install(report, scratch.path(), what, &npm::SERVE) => {
            tests.env("RANDFLAKE_NODE", node);
            tests.env("RANDFLAKE_SERVE_NODE_MODULES", scratch.path());
        }
        _ => skip(&mut tests, &["ioredis"]),
    }
    report.tests("serve", &mut tests);
    // A short form of both parts of its benchmark.
    let mut measure = host_tests();
    measure.args(["--bench", "serve"]);
    if LOADED_SERVER.tell(report, &mut measure) {
        report.check("the benchmark of the server", &mut measure);
    }
    // Each fault once.
    chaos(report, &CHAOS_ON_POSTGRES, &["postgres::"], 0);
    page(report, &scratch.path().join("page"));
}

/// A fleet under faults for so long at least on each engine.
pub(crate) fn chaos(report: &mut Report, test: &Test, only: &[&str], seconds: u32) {
    let what = "a fleet that is killed and suspended";
    let Some(venv) = Venv::with(report, "chaos", what, &[RANDFLAKE]) else {
        return;
    };
    test.run_with(report, |command| {
        command.env("RANDFLAKE_SERVE_PYTHON", venv.program("python"));
        command.env("RANDFLAKE_CHAOS_SECONDS", seconds.to_string());
        command.arg("--").args(only);
    });
}

/// What is left out was named before, or has failed.
fn skip(tests: &mut Command, names: &[&str]) {
    tests.args(names.iter().flat_map(|name| ["--skip", name]));
}

/// The operators' page in a real browser, and the HTTP interface under requests that are made from
/// its own description. In a folder that does not exist yet.
fn page(report: &mut Report, folder: &Path) {
    let what = "the operators' page";
    let has_modules = npm::install(report, folder, what, &npm::PAGE);
    let requests = "the HTTP interface under generated requests";
    let venv = Venv::with(report, "schemathesis", requests, &[SCHEMATHESIS]);
    let tools = [&NODE, &CHROMIUM].map(|tool| report.tool(tool, what));
    let ([Some(node), Some(chromium)], true, Some(venv)) = (tools, has_modules, venv) else {
        return;
    };
    let mut command = separate_test("serve_tools");
    command
        .env("RANDFLAKE_NODE", node)
        .env("RANDFLAKE_NODE_PATH", folder)
        .env("RANDFLAKE_CHROMIUM", chromium)
        .env("RANDFLAKE_SCHEMATHESIS", venv.program("schemathesis"))
        // `deploy` and `checkers` run these.
        .args(["--", "--skip", "alerts::", "--skip", "checkers::"]);
    report.tests("serve_tools", &mut command);
}

/// Other requests than those of [`page`], for some time.
pub(crate) fn requests(report: &mut Report, seconds: u32) {
    let what = "the HTTP interface under generated requests";
    let Some(venv) = Venv::with(report, "schemathesis", what, &[SCHEMATHESIS]) else {
        return;
    };
    let mut command = separate_test("serve_tools");
    command
        .env("RANDFLAKE_SCHEMATHESIS", venv.program("schemathesis"))
        .env("RANDFLAKE_SCHEMATHESIS_SECONDS", seconds.to_string())
        .args(["--", "schema::"]);
    report.tests(what, &mut command);
}
