#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connect;
mod database;
mod driver;
mod failure;
mod runtime;
mod server_state;
mod values;

pub use database::{Database, once};
pub use driver::{DatabaseSession, Driver, TextsByKey, whole_pages};
pub use failure::{DatabaseFailure, Sort, pooled};
pub use server_state::{ServerState, emptied};
pub use values::{SingleUpdate, SqlValue, TABLES, expected, key, window};
