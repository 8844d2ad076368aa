//! Leases and counters in a file of this machine.

#[cfg(feature = "sqlite")]
mod store;

#[cfg(feature = "sqlite")]
pub use self::store::SqliteStore;
use super::{Opening, Registration};
use crate::store::url::{Location, Scheme};
use crate::vocabulary::StoreError;

pub(in crate::store) static ENGINE: Registration = Registration {
    name: "SQLite",
    feature: "sqlite",
    short_form: "sqlite:PATH",
    schemes: &[Scheme::of_file("sqlite", &[], "sqlite:PATH")],
    has_counters: true,
    check,
    opening: OPENING,
};

#[cfg(feature = "sqlite")]
const OPENING: Option<Opening> = Some(store::OPENING);
#[cfg(not(feature = "sqlite"))]
const OPENING: Option<Opening> = None;

fn check(location: &Location) -> Result<(), StoreError> {
    // SQLite would keep it in the memory of one connection.
    if location.path().as_os_str() == ":memory:" {
        return Err(location.refused("names no file"));
    }
    Ok(())
}
