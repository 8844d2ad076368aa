//! `sql`: the SQL functions over ids, in the databases themselves.

mod postgres;
pub(crate) mod sqlite;

use crate::report::Report;
use crate::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    [postgres::needs(), sqlite::needs()].concat()
}

pub(crate) fn run(report: &mut Report) {
    postgres::run(report);
    sqlite::run(report);
}
