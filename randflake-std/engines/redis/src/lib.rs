#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connection;
mod diagnosis;
mod engine;
mod process;
mod rights;
mod store;
mod tls;
mod transport;
mod url;

pub use store::RedisStore;
pub use url::ENGINE;
