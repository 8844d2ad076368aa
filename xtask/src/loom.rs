//! `loom`: model checks of the generator's one atomic word, of blocks and of the buffer of segments. The workspace's
//! manifest has loom itself optimised, where the time goes.

use crate::cargo::cargo;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    report.tests(
        "loom",
        &mut cargo(&[
            "test",
            "--package",
            "randflake-core",
            "--test",
            "loom",
            "--test",
            "loom_blocks",
            "--test",
            "loom_segments",
        ]),
    );
}
