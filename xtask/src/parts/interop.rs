//! `interop`: ids exchanged with the published Python package, decoded with numpy as `docs/data.md`
//! does, and read by packages for other layouts and for UUIDs, in folders made for the run.

use crate::helpers::prelude::*;

/// The published package, numpy and pandas, and packages with other layouts, all with their hashes.
/// Left out: `sparx-lib` is no cipher; `sonyflake` of npm counts milliseconds and `SonyflakeID` of
/// `snowflake-id-toolkit` has 8 bits for the machine, where Sony's ids have units of 10 ms and 16
/// bits.
const PACKAGES: &str = include_str!("interop.txt");

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON), Need::Tool(&NODE), Need::Tool(&NPM)]
}

pub(crate) fn run(report: &mut Report) {
    let what = "ids exchanged with packages of Python and Node.js, and decoded with numpy";
    let Some(venv) = Venv::with(report, "interop", what, &[PACKAGES]) else {
        return;
    };
    let Some(modules) = report.scratch("interop-node") else {
        return;
    };
    let mut command = separate_test("interop");
    command.env("RANDFLAKE_INTEROP_PYTHON", venv.program("python"));
    match report.tool(&NODE, what) {
        Some(node) if npm::install(report, modules.path(), what, &npm::INTEROP) => {
            command.env("RANDFLAKE_NODE", node);
            command.env("RANDFLAKE_INTEROP_NODE_MODULES", modules.path());
        }
        _ => _ = command.args(["--", "--skip", "packages::"]),
    }
    report.tests("interop", &mut command);
}
