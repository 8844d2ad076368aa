#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bounded;
mod connect;
mod diagnosis;
mod failure;
mod rights;
mod session;
mod statements;
mod store;
mod tls;
mod url;

pub use store::PostgresStore;
pub use url::ENGINE;
