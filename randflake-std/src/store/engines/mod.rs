//! Where the records of namespaces are kept: one folder for each engine.

mod assigned;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database;
#[cfg(feature = "etcd")]
mod etcd;
mod memory;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
pub(super) mod registry;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(super) use self::assigned::StaticFile;
pub use self::assigned::{NODE_ID_VARIABLE, NodeIdSource, StaticStore};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) use self::database::Database;
#[cfg(feature = "etcd")]
pub(super) use self::etcd::Etcd;
#[cfg(feature = "etcd")]
pub use self::etcd::EtcdStore;
pub use self::memory::MemoryStore;
#[cfg(feature = "mysql")]
pub(super) use self::mysql::Mysql;
#[cfg(feature = "mysql")]
pub use self::mysql::MysqlStore;
#[cfg(feature = "postgres")]
pub(super) use self::postgres::Postgres;
#[cfg(feature = "postgres")]
pub use self::postgres::PostgresStore;
#[cfg(feature = "redis")]
pub(super) use self::redis::Redis;
#[cfg(feature = "redis")]
pub use self::redis::RedisStore;
#[cfg(feature = "sqlite")]
pub(super) use self::sqlite::Sqlite;
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteStore;

/// Bytes as text. Those that are none are shown by a sign of their own, so that whoever reads them finds them damaged.
#[cfg(any(feature = "etcd", feature = "redis"))]
fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
