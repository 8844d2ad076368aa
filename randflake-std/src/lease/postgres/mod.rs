//! Leases and counters in a PostgreSQL database.

mod diagnosis;
mod failure;
mod owner;
mod records;
mod session;
mod tls;

use core::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use self::session::Session;
use self::tls::Target;
#[cfg(doc)]
use super::LeaseStore;
use super::database::{Database, count};
use super::encryption::Files;
use super::url::{Engine as Scheme, Host, Server};
use super::{EngineError, Finding, Namespace, StoreError};
use crate::ledger::{Committed, Engine, Keys, Ledger, Reading, Write};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// A store of leases and counters in a PostgreSQL database, for the processes of many machines.
///
/// It needs PostgreSQL 12 or later and makes a schema `randflake` in the database that the URL names,
/// with tables and nothing else. A role that may not do that can use what a superuser has made, or the role
/// that the URL names: `owner=ROLE`. What anybody else has made or changed is refused; the repository's
/// `docs/databases.md` has a role's few rights. An acquire is two statements, a read and a conditional write, and
/// a renewal one; each is a transaction and a round trip of its own, so a client that is stopped holds no lock.
/// What is answered is durable: the session sets `synchronous_commit=on`, whatever the server's settings say,
/// and a server with `fsync=off` is refused, also when that is changed meanwhile. The clock is the server's. The
/// store takes no part in an application's own runtime, and may be used in a task of one.
///
/// # URL
///
/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `postgresql` as another name. Several servers of
/// one cluster stand with commas, `HOST1:PORT1,HOST2:PORT2`: the one is taken that is no standby. With
/// `?sslmode=verify-full` (feature `postgres-tls`) the connection is encrypted and the server's certificate
/// verified; else it is plain. [`open`](super::open) lists all options. A connection is made within 3 s, and
/// an operation answered within a sixth of the TTL, 0.5 s to 3 s, plus 0.1 ms for each node id, or it is [`StoreError::Unavailable`]; a connection that was lost is
/// replaced by the next operation.
///
/// Connection poolers must keep sessions (`pool_mode=session` of `PgBouncer`); one that gives each transaction another
/// session is refused.
///
/// # What it stores
///
/// One row of a table `record` for each namespace and counter, and for each node id from its first lease on: about
/// 210 bytes and a third as many left free, so that a renewal changes no index. Besides one small row for 64
/// node ids that says when none of them is free, as soon as somebody has looked there in vain or released one.
///
/// # What it notices
///
/// Each operation reads what the server is known by: its system identifier and timeline, and the numbers of the
/// database, the table and its file. One of them changes when a standby is promoted, when a server is restored to
/// a point in time, when database or dump are restored or copied, and when the table is truncated. Each namespace
/// then begins in quarantine: nothing is granted for the longest TTL and 20 s
/// ([`StoreError::Quarantined`]). So an asynchronous standby may be promoted. A schema that is made while
/// processes are connected that have used an older one begins in quarantine too, and so does a namespace whose
/// row is gone while its leases are there. `VACUUM FULL` and `CLUSTER` of the table look like a truncation, to
/// counters too: leave it to autovacuum.
///
/// No time heals a [counter](crate::segment) that may have gone back: then counters are
/// refused as [`CounterError::Lost`], those too that the store does not know, until somebody says
/// where each goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - The files of the server, or its machine, set back while it was down, and leases and counters deleted by hand
///   that no holder is left to miss: call [`quarantine`](LeaseStore::quarantine) then, and
///   [`resume`](SegmentStore::resume) each counter further on.
/// - A promoted standby *and* the former primary both in use, the split brain: each grants the same
///   node ids. Make sure that the former primary is down before the standby is promoted
///   (`synchronous_standby_names` keeps a cut-off primary from granting anything).
/// - The schema dropped while no process is connected: the next one makes it anew, grants at once, and counts
///   from 1.
/// - Disks that lie about what they have written.
///
/// ```no_run
/// use randflake_std::lease::{Namespace, PostgresStore};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let store = PostgresStore::open("postgres://ids:secret@db.example/ids", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("secret.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type PostgresStore = Ledger<Postgres>;

/// One namespace of a database.
#[derive(Debug)]
pub struct Postgres {
    database: Database<Session>,
}

impl PostgresStore {
    /// Opens the store that a URL names, creating the schema if it is not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood or names no host;
    /// [`StoreError::Unusable`] when the server's certificate is not trusted, the server refuses user,
    /// password or database, runs with `fsync=off`, has a schema that another role has made and
    /// `owner` does not name, has the namespace with other terms, or has another version's schema, when a
    /// pooler gives each statement another session, and when this build cannot encrypt but should;
    /// [`StoreError::Unavailable`] when there is no answer, or no server but standbys. No error shows a
    /// password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Scheme::Postgres)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::opened(Postgres::at(server, namespace)?, namespace)
    }
}

impl Postgres {
    /// The namespace in the database that a URL names, for a [`Ledger`] that compares the server's clock with
    /// none, as in simulations. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood or names no host.
    pub fn new(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Scheme::Postgres)?, namespace)
    }

    fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let files = Files::asked_by(server)?;
        let target = Target {
            config: settings(server, files.is_some()),
            files,
            owner: server.option("owner").map(str::to_owned),
            first: None,
        };
        let place = format!("the PostgreSQL server at {}", server.address);
        Ok(Self {
            database: Database::new(target, place, namespace)?,
        })
    }
}

impl Engine for Postgres {
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
        true
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.database.limit_for(ttl);
    }
}

/// For the client, field by field: its own parser takes more options.
fn settings(server: &Server, is_encrypted: bool) -> Config {
    let mut config = Config::new();
    for Host { name, port } in server.hosts() {
        config.host(name).port(*port);
    }
    if let Some(user) = &server.user {
        config.user(user);
    }
    if let Some(password) = &server.password {
        config.password(password.as_bytes());
    }
    if let Some(database) = &server.database {
        config.dbname(database);
    }
    // What is preferred, and not checked, protects from nobody: it is all or nothing.
    config.ssl_mode(if is_encrypted {
        SslMode::Require
    } else {
        SslMode::Disable
    });
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    config.application_name("randflake");
    config
}
