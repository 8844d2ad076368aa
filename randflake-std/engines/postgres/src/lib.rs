#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connect;
mod failure;
mod session;
mod statements;
mod store;
mod url;

pub use store::PostgresStore;
pub use url::ENGINE;
