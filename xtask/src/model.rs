//! `model`: the lease protocol, model-checked over millions of states. Optimised: the search is long.

use crate::matrix::{optimised, separate_test};
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    report.tests("model", optimised(3, &mut separate_test("model")));
}
