//! Ids as columns of PostgreSQL, MariaDB and SQLite, by each client that there is a feature for.

#![cfg(unix)]

mod diesel;
mod kinds;
mod numbers;
mod postgres_types;
mod rusqlite;
mod sea_orm;
mod servers;
mod sqlite_cases;
mod sqlite_functions;
mod sqlx;
