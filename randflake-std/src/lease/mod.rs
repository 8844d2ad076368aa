//! Leases: who may use which node id, and when.
//!
//! Uniqueness rests on one promise of the store (it is checked by the contract that every store's
//! tests run): **for one node id, all intervals of ticks ever granted are disjoint**, over all
//! holders and all restarts. Ids of a holder that was paused past its lease's end carry ticks of its
//! own interval alone, so disjoint intervals are all the fencing there is to do.
#![doc = include_str!("faults.md")]

mod assigned;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database;
#[cfg(any(
    feature = "redis",
    feature = "etcd",
    feature = "postgres",
    feature = "mysql"
))]
mod encryption;
mod engine_error;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod finding;
mod locked;
mod memory;
#[cfg(feature = "mysql")]
mod mysql;
mod namespace;
mod occupancy;
#[cfg(feature = "postgres")]
mod postgres;
mod quarantine;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
#[cfg(feature = "ticket")]
mod ticket;
mod token;
pub(crate) mod url;
mod volume;

use core::time::Duration;

pub use crate::holder::holder_of_process;
pub use assigned::{NODE_ID_VARIABLE, NodeIdSource, StaticFile, StaticStore};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use database::Database;
pub use engine_error::{EngineError, EngineErrorKind};
pub use error::{StoreError, StoreErrorKind};
#[cfg(feature = "etcd")]
pub use etcd::{Etcd, EtcdStore};
pub use finding::{Finding, Verdict};
pub use memory::{Memory, MemoryStore};
#[cfg(feature = "mysql")]
pub use mysql::{Mysql, MysqlStore};
pub use namespace::{DEFAULT_MAX_TTL, Namespace, NamespaceError};
pub use occupancy::{Occupancy, occupancy};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresStore};
pub use quarantine::{Quarantine, QuarantineCause};
#[cfg(feature = "redis")]
pub use redis::{Redis, RedisStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteStore};
pub use store::{AcquireRequest, Acquired, Grant, LeaseStore, NodeIds, Record, Renewed};
#[cfg(feature = "ticket")]
pub use ticket::{DeviceLease, DeviceLeaseError};
pub use token::Token;
pub use url::{StoreUrl, find, namespaces, open};

/// By how much the clocks of a store's clients, and of the store, may differ: 10 s.
pub const MAX_SKEW: Duration = Duration::from_secs(10);
