#![doc = include_str!("README.md")]

mod date;
#[cfg(feature = "diesel-sqlite")]
mod diesel;
mod functions;
#[cfg(feature = "rusqlite")]
mod rusqlite;
mod time;

#[cfg(feature = "diesel-sqlite")]
pub use self::diesel::{dsl, register_on_diesel};
#[cfg(feature = "rusqlite")]
pub use self::rusqlite::register_on_rusqlite;
