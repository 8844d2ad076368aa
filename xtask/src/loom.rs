//! `loom`: model checks of the generator's one atomic word, of blocks and of the buffer of segments. The workspace's
//! manifest has loom itself optimised, where the time goes.

use crate::matrix::separate_test;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let mut command = separate_test("loom");
    command.args(["--test", "loom_blocks", "--test", "loom_segments"]);
    report.tests("loom", &mut command);
}
