//! `sql`: the SQL functions over ids, in the databases themselves.

pub(crate) mod sqlite;

use crate::report::Report;
use crate::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    sqlite::needs()
}

pub(crate) fn run(report: &mut Report) {
    sqlite::run(report);
}
