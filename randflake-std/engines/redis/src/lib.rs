#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connection;
mod diagnosis;
mod engine;
mod process;
mod refusal;
mod store;
mod transport;

pub use store::{ENGINE, RedisStore};
