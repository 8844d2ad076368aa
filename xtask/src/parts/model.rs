//! `model`: the lease protocol, model-checked over millions of states, optimised, as the search is
//! long; and by loom all interleavings of the generator's one atomic word, of blocks and of the
//! buffer of segments. The workspace's manifest has loom itself optimised, where the time goes.

use crate::helpers::prelude::*;

pub(crate) fn run(report: &mut Report) {
    report.tests("model", &mut test_of_rules("model"));
    report.tests("loom", &mut separate_test("loom"));
}
