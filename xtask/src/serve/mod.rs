//! `serve`: the server of the command line tool, with clients of Debian, `PyPI` and npm, which are installed for the run.

mod page;

use std::process::Command;

use crate::cargo::program;
use crate::chaos;
use crate::matrix::separate_test;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::setup::Need;
use crate::tools::{NODE, NPM, PYTHON, REDIS_BENCHMARK, REDIS_CLI, Tool};

const REDIS_PY: &str = "redis==8.1.0";
const PACKAGE: &str = "randflake==2.1.0";
const IOREDIS: &str = "ioredis@5.11.1";

pub(crate) fn needs() -> Vec<Need> {
    let tools: [&'static Tool; 5] = [&REDIS_CLI, &REDIS_BENCHMARK, &PYTHON, &NODE, &NPM];
    let mut needs: Vec<Need> = tools.map(Need::Tool).into();
    needs.extend(page::needs());
    needs.extend(chaos::needs());
    needs
}

pub(crate) fn run(report: &mut Report) {
    let scratch = match Scratch::new("serve") {
        Ok(scratch) => scratch,
        Err(error) => {
            report.verdict("temporary directory", Err(error.to_string()));
            return;
        }
    };
    let mut tests = separate_test("serve");
    tests.arg("--");
    let tools: [(&'static Tool, &str, &[&str]); 2] = [
        (&REDIS_CLI, "RANDFLAKE_REDIS_CLI", &["redis_cli", "tls"]),
        (
            &REDIS_BENCHMARK,
            "RANDFLAKE_REDIS_BENCHMARK",
            &["redis_cli"],
        ),
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
    if !redis_py(report, &scratch, &mut tests) {
        skip(&mut tests, &["redis_py"]);
    }
    if !ioredis(report, &scratch, &mut tests) {
        skip(&mut tests, &["ioredis"]);
    }
    report.tests("serve", &mut tests);
    chaos::run(report);
    page::run(report, &scratch.path().join("page"));
}

/// What is left out was named before, or has failed.
fn skip(tests: &mut Command, names: &[&str]) {
    tests.args(names.iter().flat_map(|name| ["--skip", name]));
}

fn redis_py(report: &mut Report, scratch: &Scratch, tests: &mut Command) -> bool {
    let Some(python) = report.tool(&PYTHON, "the server's test redis_py") else {
        return false;
    };
    let venv = scratch.path().join("python");
    let make = ["-m", "venv", &venv.to_string_lossy()];
    let python = program(&python.to_string_lossy(), &make);
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
        REDIS_PY,
        PACKAGE,
    ];
    let own = venv.join("bin/python");
    let pip = program(&own.to_string_lossy(), &install);
    tests.env("RANDFLAKE_SERVE_PYTHON", own);
    installed(report, [("virtual environment", python), (REDIS_PY, pip)])
}

fn ioredis(report: &mut Report, scratch: &Scratch, tests: &mut Command) -> bool {
    const WHAT: &str = "the server's test ioredis";
    let (node, npm) = (report.tool(&NODE, WHAT), report.tool(&NPM, WHAT));
    let (Some(node), Some(npm)) = (node, npm) else {
        return false;
    };
    let folder = scratch.path().to_string_lossy();
    let install = [
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        &folder,
        IOREDIS,
    ];
    let install = program(&npm.to_string_lossy(), &install);
    tests.env("RANDFLAKE_NODE", node);
    tests.env("RANDFLAKE_SERVE_NODE_MODULES", scratch.path());
    installed(report, [(IOREDIS, install)])
}

fn installed<const N: usize>(report: &mut Report, steps: [(&str, Command); N]) -> bool {
    let mut steps = steps.into_iter();
    steps.all(|(what, mut command)| report.check(what, &mut command))
}
