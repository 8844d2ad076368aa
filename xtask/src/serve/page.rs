//! The operators' page in a real browser, and the HTTP interface under requests that are made from its own description. What
//! that takes comes from Debian, npm and `PyPI`, the latter into a folder that is made for the run.

use std::path::{Path, PathBuf};

use crate::cargo::program;
use crate::matrix::separate_test;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::{CHROMIUM, NODE, NPM, PYTHON};

const LIBRARIES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.1"];
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

pub(super) fn needs() -> Vec<Need> {
    vec![
        Need::Tool(&NODE),
        Need::Tool(&NPM),
        Need::Tool(&CHROMIUM),
        Need::Tool(&PYTHON),
    ]
}

/// In a folder that does not exist yet.
pub(super) fn run(report: &mut Report, folder: &Path) {
    let modules = libraries(report, &folder.join("node"));
    let schemathesis = schemathesis(report, &folder.join("python"));
    let tools = [&NODE, &CHROMIUM].map(|tool| report.tool(tool, "the operators' page"));
    let ([Some(node), Some(chromium)], Some(modules), Some(schemathesis)) =
        (tools, modules, schemathesis)
    else {
        return;
    };
    let mut command = separate_test("serve_tools");
    command
        .env("RANDFLAKE_NODE", node)
        .env("RANDFLAKE_NODE_PATH", modules)
        .env("RANDFLAKE_CHROMIUM", chromium)
        .env("RANDFLAKE_SCHEMATHESIS", schemathesis);
    report.tests("serve_tools", &mut command);
}

/// Installs those of JavaScript; their folder.
fn libraries(report: &mut Report, folder: &Path) -> Option<PathBuf> {
    let npm = report.tool(&NPM, "the operators' page")?;
    let prefix = folder.to_string_lossy();
    let mut install = program(
        &npm.to_string_lossy(),
        &[
            "install",
            "--prefix",
            &prefix,
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ],
    );
    let is_there = report.check("playwright-core and axe-core", install.args(LIBRARIES));
    is_there.then(|| folder.join("node_modules"))
}

/// Installs it; its program.
fn schemathesis(report: &mut Report, folder: &Path) -> Option<PathBuf> {
    let python = report.tool(&PYTHON, "the HTTP interface under generated requests")?;
    let venv = folder.to_string_lossy();
    let mut make = program(&python.to_string_lossy(), &["-m", "venv", &venv]);
    let python = folder.join("bin/python");
    let mut install = program(
        &python.to_string_lossy(),
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            SCHEMATHESIS,
        ],
    );
    let is_there =
        report.check("virtual environment", &mut make) && report.check(SCHEMATHESIS, &mut install);
    is_there.then(|| folder.join("bin/schemathesis"))
}
