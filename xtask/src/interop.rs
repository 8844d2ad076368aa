//! `interop`: ids exchanged with the published Python package, decoded with numpy as `docs/data.md` does, and read by packages
//! for other layouts and for UUIDs, in folders made for the run.

use crate::matrix::separate_test;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::serve::npm;
use crate::setup::Need;
use crate::tools::{NODE, NPM, PYTHON};
use crate::venv::{NUMPY, RANDFLAKE, Venv};

const PANDAS: &str = "pandas==3.1.1";

/// Ids of other layouts. Left out: the package `sparx-lib` is no cipher; `sonyflake` of npm counts milliseconds and
/// `SonyflakeID` of `snowflake-id-toolkit` has 8 bits for the machine, where Sony's ids have units of 10 ms and 16 bits.
const OTHERS: [&str; 2] = ["sonyflake==2.0.3", "snowflake-id-toolkit==0.6.0"];
const OF_NPM: [&str; 2] = ["uuid@14.0.3", "@sapphire/snowflake@3.5.5"];

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON), Need::Tool(&NODE), Need::Tool(&NPM)]
}

pub(crate) fn run(report: &mut Report) {
    let what = "ids exchanged with packages of Python and Node.js, and decoded with numpy";
    let packages = [&[RANDFLAKE, NUMPY, PANDAS], &OTHERS[..]].concat();
    let Some(venv) = Venv::with(report, "interop", what, &packages) else {
        return;
    };
    let Some(modules) = Scratch::reported(report, "interop-node") else {
        return;
    };
    let mut command = separate_test("interop");
    command.env("RANDFLAKE_INTEROP_PYTHON", venv.program("python"));
    match report.tool(&NODE, what) {
        Some(node) if npm::install(report, modules.path(), what, &OF_NPM) => {
            command.env("RANDFLAKE_NODE", node);
            command.env("RANDFLAKE_INTEROP_NODE_MODULES", modules.path());
        }
        _ => _ = command.args(["--", "--skip", "packages::"]),
    }
    report.tests("interop", &mut command);
}
