//! `model`: the lease protocol, model-checked over millions of states. Optimised: the search is long.

use crate::matrix::test_of_rules;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    report.tests("model", &mut test_of_rules("model"));
}
