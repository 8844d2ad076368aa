//! URLs of SQLite files.

use crate::store::{Sqlite, SqliteStore};
use randflake_lease::StoreError;
use randflake_lease::unstable::engine::Engine;
use randflake_lease::unstable::url::{Location, Registration, Scheme};

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "SQLite",
    schemes: &[Scheme::of_file("sqlite", &[], "sqlite:PATH")],
    has_counters: true,
    check,
    open: |location, namespace| SqliteStore::open(location.path(), namespace),
    open_existing: |location, namespace| {
        let found = Sqlite::open_existing(location.path(), namespace)?;
        Ok(found.map(|database| Box::new(database) as Box<dyn Engine>))
    },
};

fn check(location: &Location) -> Result<(), StoreError> {
    // SQLite would keep it in the memory of one connection.
    if location.path().as_os_str() == ":memory:" {
        return Err(location.refused("names no file"));
    }
    Ok(())
}
