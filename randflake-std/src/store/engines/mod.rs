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
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::assigned::{NODE_ID_VARIABLE, NodeIdSource, StaticFile, StaticStore};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use self::database::Database;
#[cfg(feature = "etcd")]
pub use self::etcd::{Etcd, EtcdStore};
pub use self::memory::{Memory, MemoryStore};
#[cfg(feature = "mysql")]
pub use self::mysql::{Mysql, MysqlStore};
#[cfg(feature = "postgres")]
pub use self::postgres::{Postgres, PostgresStore};
#[cfg(feature = "redis")]
pub use self::redis::{Redis, RedisStore};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{Sqlite, SqliteStore};
