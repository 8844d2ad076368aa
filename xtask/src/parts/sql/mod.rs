//! `sql`: the SQL functions over ids, in the databases themselves.

mod duckdb;
mod mariadb;
mod postgres;
pub(crate) mod sqlite;

use crate::helpers::report::Report;
use crate::helpers::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    let databases = [
        postgres::needs(),
        sqlite::needs(),
        mariadb::needs(),
        duckdb::needs(),
    ];
    databases.concat()
}

pub(crate) fn run(report: &mut Report) {
    postgres::run(report);
    sqlite::run(report);
    mariadb::run(report);
    duckdb::run(report);
}
