//! Leases: who may use which node id, and when.
//!
//! **Start here:** [`open`] opens a store by its URL, for a [`Namespace`]; a [`Builder`](crate::Builder) takes it.
//! Without a server, use `SqliteStore`; with assigned node ids, [`StaticStore`]; in tests, [`MemoryStore`].
//!
//! Uniqueness rests on one promise of the store, which the contract tests check for each: **all intervals of ticks ever
//! granted for one node id are disjoint**, over all holders and all restarts. A holder that was paused past the end of
//! its lease can stamp only ticks of its own interval, so no other fencing is needed.
#![doc = include_str!("blocking.md")]
#![doc = include_str!("faults.md")]

mod assigned;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database;
mod deferred;
pub(crate) mod device;
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
pub mod forecast;
mod grant;
mod history;
mod locked;
mod memory;
#[cfg(feature = "mysql")]
mod mysql;
mod namespace;
mod namespace_list;
mod occupancy;
#[cfg(feature = "postgres")]
mod postgres;
mod presented;
mod quarantine;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod ticket;
mod token;
pub(crate) mod url;
mod volume;

use core::time::Duration;

#[doc(hidden)] // The engines under the stores.
pub use assigned::StaticFile;
pub use assigned::{NODE_ID_VARIABLE, NodeIdSource, StaticStore};
#[cfg(any(feature = "postgres", feature = "mysql"))]
#[doc(hidden)]
pub use database::Database;
pub use deferred::deferred;
pub use device::{Device, DeviceError, DeviceRequest, MAX_COUNTER_STEP};
pub use engine_error::{EngineError, EngineErrorKind};
pub use error::{StoreError, StoreErrorKind};
#[cfg(feature = "etcd")]
#[doc(hidden)]
pub use etcd::Etcd;
#[cfg(feature = "etcd")]
pub use etcd::EtcdStore;
pub use finding::{Finding, Verdict};
pub use grant::{AcquireRequest, Acquired, Grant, NodeIds, Record, Renewed};
pub use history::{Explained, Explanation, Gap, History, PastLease, UnknownCause};
pub(crate) use history::{HISTORY_KEPT, NodeHistory};
#[doc(hidden)]
pub use memory::Memory;
pub use memory::MemoryStore;
#[cfg(feature = "mysql")]
#[doc(hidden)]
pub use mysql::Mysql;
#[cfg(feature = "mysql")]
pub use mysql::MysqlStore;
pub use namespace::{ASSUMED_MAX_TTL, DEFAULT_MAX_TTL, Namespace, NamespaceError};
pub use namespace_list::NamespaceList;
pub use occupancy::{Occupancy, occupancy};
#[cfg(feature = "postgres")]
#[doc(hidden)]
pub use postgres::Postgres;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use presented::{LastWrite, PresentedGrant, PresentedRenewal, RequestId};
pub use quarantine::{Quarantine, QuarantineCause};
#[cfg(feature = "redis")]
#[doc(hidden)]
pub use redis::Redis;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
#[cfg(feature = "sqlite")]
#[doc(hidden)]
pub use sqlite::Sqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::LeaseStore;
pub use ticket::{DeviceLease, DeviceLeaseError};
pub use token::Token;
#[doc(hidden)] // For the command line tool.
pub use url::StoreUrl;
#[doc(hidden)]
pub use url::stored;
pub use url::{find, namespaces, open};

#[doc(hidden)] // For the command line tool.
pub use crate::holder::holder_of_process;
#[doc(inline)]
pub use crate::ledger::Loss;
#[doc(hidden)] // What a handle tells its store of its permutation.
pub use crate::ledger::Seal;

/// By how much the clocks of a store's clients, and of the store, may differ: 10 s.
pub const MAX_SKEW: Duration = Duration::from_secs(10);
