//! The operators' page in a real browser, and the HTTP interface under requests that are made from its own description. What
//! that takes comes from Debian, npm and `PyPI`, the latter into a folder that is made for the run.

use std::path::Path;

use crate::helpers::matrix::separate_test;
use crate::helpers::npm;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{CHROMIUM, NODE, NPM, PYTHON};
use crate::helpers::venv::Venv;

/// All with their hashes, so `pip` brings nothing that is not named there.
const SCHEMATHESIS: &str = include_str!("schemathesis.txt");

pub(crate) fn needs() -> Vec<Need> {
    vec![
        Need::Tool(&NODE),
        Need::Tool(&NPM),
        Need::Tool(&CHROMIUM),
        Need::Tool(&PYTHON),
    ]
}

/// In a folder that does not exist yet.
pub(super) fn run(report: &mut Report, folder: &Path) {
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
        // `deploy` and `judges` run these.
        .args(["--", "--skip", "alerts::", "--skip", "judges::"]);
    report.tests("serve_tools", &mut command);
}

/// Other requests than those of [`run`], for some time.
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
