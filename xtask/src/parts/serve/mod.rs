//! `serve`: the server of the command line tool, with clients of Debian, `PyPI` and npm, which are installed for the run.

pub(crate) mod page;

use std::process::Command;

use crate::helpers::matrix::separate_test;
use crate::helpers::npm;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{
    NODE, NPM, OPENSSL, POSTGRES, PYTHON, REDIS, REDIS_BENCHMARK, REDIS_CLI, Tool, WRK,
};
use crate::helpers::venv::{RANDFLAKE, Venv};
use crate::parts::{bench, deep, engines};

const REDIS_PY: &str =
    "redis==8.1.0 --hash=sha256:a4fe1aac3d3b3cc791d4b3d5931c5a956045dc951ee74d1c913ee3ac4d2ee9fb";

/// A framework and its test client, of redis-py's example.
const FASTAPI: &str = include_str!("fastapi.txt");

pub(crate) fn needs() -> Vec<Need> {
    let tools: [&'static Tool; 8] = [
        &REDIS,
        &REDIS_CLI,
        &REDIS_BENCHMARK,
        &OPENSSL,
        &PYTHON,
        &NODE,
        &NPM,
        &WRK,
    ];
    let mut needs: Vec<Need> = tools.map(Need::Tool).into();
    needs.extend(page::needs());
    needs.extend(engines::CHAOS_ON_POSTGRES.needs());
    needs
}

pub(crate) fn run(report: &mut Report) {
    let Some(scratch) = report.scratch("serve") else {
        return;
    };
    let mut tests = separate_test("serve");
    tests.arg("--");
    let tools: [(&'static Tool, &str, &[&str]); 5] = [
        (&REDIS, "RANDFLAKE_REDIS_SERVER", &["incidents::"]),
        (&REDIS_CLI, "RANDFLAKE_REDIS_CLI", &["redis_cli", "tls"]),
        (
            &REDIS_BENCHMARK,
            "RANDFLAKE_REDIS_BENCHMARK",
            &["redis_cli"],
        ),
        (&OPENSSL, "RANDFLAKE_OPENSSL", &["openssl"]),
        (&POSTGRES, "RANDFLAKE_POSTGRES", &["emptied::"]),
    ];
    for (tool, variable, skipped) in tools {
        match report.tool(
            tool,
            &format!("the server's tests {}", skipped.join(" and ")),
        ) {
            Some(path) => _ = tests.env(variable, path),
            None => skip(&mut tests, skipped),
        }
    }
    let what = "the server's test redis_py";
    let python = Venv::with(
        report,
        "serve-python",
        what,
        &[REDIS_PY, RANDFLAKE, FASTAPI],
    );
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
    bench::serve_once(report);
    deep::chaos_once(report);
    page::run(report, &scratch.path().join("page"));
}

/// What is left out was named before, or has failed.
fn skip(tests: &mut Command, names: &[&str]) {
    tests.args(names.iter().flat_map(|name| ["--skip", name]));
}
