//! Leases and counters in a MySQL or MariaDB database.

mod diagnosis;
mod failure;
mod records;
mod session;
mod sql;
mod tls;

use core::time::Duration;
use std::sync::Arc;

use mysql_async::{Opts, OptsBuilder};
use randflake_core::Clock;

use self::session::Session;
use self::tls::Target;
#[cfg(doc)]
use super::LeaseStore;
use super::database::{Database, count};
use super::encryption::Files;
use super::url::{Engine as Scheme, Server};
use super::{EngineError, Finding, Namespace, StoreError};
use crate::ledger::{Committed, Engine, Keys, Ledger, Reading, Write};
#[cfg(doc)]
use crate::segment::SegmentStore;

type SharedClock = Arc<dyn Clock + Send + Sync>;

/// A store of leases and counters in a `MySQL` or `MariaDB` database, for the processes of many machines.
///
/// It needs `MySQL` 8.0.21 or `MariaDB` 10.6 and makes tables `randflake_...` in the database that the URL
/// names; the repository's `docs/databases.md` has a user's few rights. Tables that somebody has changed, views in
/// their place and triggers are refused before any of them is used. An acquire is two round trips, a renewal one, and
/// durable when it returns: nothing is granted or renewed where `innodb_flush_log_at_trx_commit` is not 1, or
/// `log_bin` is on and `sync_binlog` not 1, which is 0 in `MariaDB` unless set. Every operation looks at that. The
/// clock is the server's.
///
/// # URL
///
/// `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, for `MariaDB` too. With `?sslmode=verify-full` (feature
/// `mysql-tls`) the connection is encrypted and the server's certificate verified; else it is plain.
/// [`open`](super::open) lists all options. A
/// connection is made within 3 s, and an operation answered within a sixth of the TTL, 0.5 s to 3 s, plus
/// 0.1 s for each thousand node ids, or it is [`StoreError::Unavailable`]; a connection that was lost is
/// replaced by the next operation. A pooler between must pool by session; one that pools by transaction is refused
/// once it takes another of the server's sessions.
///
/// # What it stores
///
/// In the table `randflake_record`, a row of text for each namespace, for each node id from its first lease on, for each
/// counter, and for each 64 adjacent node ids that are all taken, as a hint; in the table `randflake_store`, one row with a
/// random number that was made with the tables.
///
/// # What it notices
///
/// Namespaces keep what the database was known by: that random number, the server's own (`server_uuid`; in
/// `MariaDB`, which has none, its `server_id`), and the time at which the table's definition came onto its disk. These
/// are others on a replica, in a restored dump, and where the tables were made anew or optimized. Every operation
/// compares them; nothing is granted then for the longest TTL and 20 s ([`StoreError::Quarantined`]). So
/// an asynchronous replica may be promoted. Tables that were dropped or emptied while holders are connected, a
/// namespace's row that was deleted, and a lease that vanished are noticed too.
///
/// No time heals a [counter](crate::segment) that may have gone back: then counters are refused as
/// [`CounterError::Lost`], those too that the store does not know, until somebody says where each goes on:
/// [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - A disk set back as a whole, and in `MySQL` a data directory set back with its `auto.cnf`, unless a holder is
///   connected: call [`quarantine`](LeaseStore::quarantine) then, and [`resume`](SegmentStore::resume) each counter
///   further on.
/// - A promoted replica *and* the former primary both in use, the split brain: each grants the same
///   node ids. Make sure that the former primary is down before the replica is promoted. The same holds
///   for two servers that replicate each other, and for all but one member of a Galera cluster.
/// - The tables dropped while no process is connected, or one whose connection this user may not see, as other users'
///   without the right `PROCESS`: the next one makes them anew, grants at once, and counts from 1.
/// - Disks that lie about what they have written.
///
/// ```no_run
/// use randflake_std::lease::{MysqlStore, Namespace};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let store = MysqlStore::open("mysql://ids:secret@db.example/ids", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("secret.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type MysqlStore = Ledger<Mysql>;

/// A namespace in a `MySQL` or `MariaDB` database.
#[derive(Debug)]
pub struct Mysql {
    database: Database<Session>,
    has_own_clock: bool,
}

impl MysqlStore {
    /// Opens the store that a URL names, creating the tables if they are not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood or names no database;
    /// [`StoreError::Unusable`] when the server's certificate is not trusted, the server refuses user,
    /// password or database, is too old, has
    /// tables that somebody has changed, has
    /// another `innodb_flush_log_at_trx_commit` than 1, or `log_bin` with another `sync_binlog` than 1, has
    /// the namespace with other terms, or has
    /// a newer version's tables, and when this build cannot encrypt but should;
    /// [`StoreError::Unavailable`] when there is no answer, or the server is read-only. No error shows a
    /// password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Scheme::Mysql)?, namespace, None)
    }

    /// [`open`](MysqlStore::open) with another clock than the server's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub fn open_with_clock<C>(
        url: &str,
        namespace: &Namespace,
        clock: Arc<C>,
    ) -> Result<Self, StoreError>
    where
        C: Clock + Send + Sync + 'static,
    {
        Self::at(&Server::at(url, Scheme::Mysql)?, namespace, Some(clock))
    }

    pub(crate) fn at(
        server: &Server,
        namespace: &Namespace,
        clock: Option<SharedClock>,
    ) -> Result<Self, StoreError> {
        let has_own_clock = clock.is_none();
        let target = Target {
            options: settings(server)?,
            files: Files::asked_by(server)?,
            clock,
        };
        let place = format!("MySQL at {}", server.address);
        let mysql = Mysql {
            database: Database::new(target, place, namespace)?,
            has_own_clock,
        };
        Self::opened(mysql, namespace)
    }
}

impl Engine for Mysql {
    fn place(&self) -> String {
        self.database.place()
    }

    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError> {
        self.database.read(count(keys), async |session, namespace| {
            session.read(namespace, keys).await
        })
    }

    fn write(&mut self, write: &Write) -> Result<Committed, EngineError> {
        let texts = write.entries.len();
        self.database.write(texts, async |session, namespace| {
            session.write(namespace, write).await
        })
    }

    fn list(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        self.database.read(most, async |session, namespace| {
            session.list(namespace, first, most).await
        })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let findings = async |session: &mut Session, _: &str| diagnosis::findings(session).await;
        self.database.read(0, findings)
    }

    fn has_own_clock(&self) -> bool {
        self.has_own_clock
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.database.limit_for(ttl);
    }
}

/// For the client, field by field: its own parser takes options that switch verification off.
fn settings(server: &Server) -> Result<Opts, StoreError> {
    let [host] = server.hosts() else {
        return Err(server.refused("does not have one host"));
    };
    if server.database.is_none() {
        return Err(server.refused("has no database"));
    }
    let password = server.password.as_ref();
    let options = OptsBuilder::default()
        .ip_or_hostname(&host.name)
        .tcp_port(host.port)
        .user(server.user.as_deref())
        .pass(password.map(|password| password.as_str()))
        .db_name(server.database.as_deref())
        // An update counts what it has found, also where it changed nothing.
        .client_found_rows(true)
        .prefer_socket(false);
    Ok(options.into())
}
