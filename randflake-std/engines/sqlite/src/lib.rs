#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod continuity;
mod directory_lock;
mod failure;
mod glance;
mod place;
mod records;
mod schema;
mod seen;
mod session;
mod store;

pub use store::{ENGINE, SqliteStore};
