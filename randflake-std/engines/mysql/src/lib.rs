#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod failure;
mod server;
mod session;
mod sql;
mod statements;
mod store;
mod tls;

pub use store::{ENGINE, MysqlStore};
