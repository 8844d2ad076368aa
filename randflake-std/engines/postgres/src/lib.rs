#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connect;
mod failure;
mod session;
mod statements;
mod store;

pub use store::{ENGINE, PostgresStore};
