//! Cost of kinds of ids as primary keys: rows with each are inserted into tables of PostgreSQL and
//! MariaDB, until they are on disk.
//!
//! `cargo xtask bench index` runs it. Rows arrive in two ways: in the order of their ids, and as
//! from a fleet, whose nodes have different rates and whose rows are inserted in random order
//! within some milliseconds. The recipes take turns, a tenth of the rows each, in another order
//! each round, so that a machine that is busy for a while is so for all. Times are compared by the
//! median over the rounds of the ratio to a sequence.
//!
//! The folder of PostgreSQL's programs is in `RANDFLAKE_POSTGRES`, MariaDB's programs in
//! `RANDFLAKE_MARIADBD` and `RANDFLAKE_MARIADB_INSTALL_DB`.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers, shown with few digits"
)]

mod arrival;
mod database;
mod kind;
mod measure;
mod options;
mod recipe;
mod table;

use std::env;
use std::process::ExitCode;

use database::{Database, Mariadb, Postgres};
use options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let options = match Options::read(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let is_asked = |name: &str| options.database.as_deref().is_none_or(|only| only == name);
    if is_asked("postgres") {
        measure(&options, || Postgres::start(options.writers));
    }
    if is_asked("mariadb") {
        measure(&options, || Mariadb::start(options.writers));
    }
    ExitCode::SUCCESS
}

/// Measures each arrival on a server of its own.
fn measure<D: Database>(options: &Options, start: impl Fn() -> D) {
    let rows = options.rows.unwrap_or(D::ROWS);
    table::begin(options, rows);
    for arrival in &options.arrivals {
        let mut database = start();
        let costs = measure::all(&mut database, arrival, rows, options.writers);
        table::print(&mut database, arrival, rows, &costs);
    }
}
