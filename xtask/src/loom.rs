//! `loom`: model checks of the generator's one atomic word, of blocks and of the buffer of segments. Optimised: the search is long.

use crate::cargo::cargo;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    report.tests(
        "loom",
        &mut cargo(&[
            "test",
            "--package",
            "randflake-core",
            "--release",
            "--test",
            "loom",
            "--test",
            "loom_blocks",
            "--test",
            "loom_segments",
        ]),
    );
}
