//! `randflake sql` on real databases: what their functions say of ids is what core says. More is in
//! `sql_cases`.
//!
//! Tests of PostgreSQL are run with more than one version of it, by the filter `postgres::`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod answers;
mod duckdb;
mod guide;
mod mysql;
mod postgres;
mod samples;
#[expect(dead_code, reason = "other tests do more with the tool")]
#[path = "../cli/user.rs"]
mod user;
mod wiretap;
