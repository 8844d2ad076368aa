#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod clock;
mod continuity;
mod engine;
mod keys;
mod presence;
mod store;
mod tls;
mod transaction;

pub use store::{ENGINE, EtcdStore};
