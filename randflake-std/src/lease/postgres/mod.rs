//! Leases and counters in a PostgreSQL database.

mod counter;
mod diagnosis;
mod failure;
mod link;
mod owner;
mod read;
mod session;
mod tls;
mod write;

use core::fmt::{self, Debug, Formatter};
use core::mem;
use core::time::Duration;
use std::sync::Arc;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use self::failure::Failure;
use self::link::{Link, Operation};
use self::tls::Target;
use super::database::{ANSWER_LIMIT, time_limit, with_node_ids};
use super::encryption::Files;
use super::runtime::Blocking;
use super::url::{Engine, Host, Server};
use super::{Finding, Namespace, StoreError};
use crate::clock::ExactSystemClock;
#[cfg(doc)]
use crate::lease::LeaseStore;
use crate::ledger::{Backend, Change, Committed, Ledger, NodeRecord, View, Wanted};
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
/// One row for each namespace and counter, and for each node id from its first lease on: about 240 bytes and
/// as many left free, so that a renewal changes no index. Besides one small row for 64 node ids that says
/// when none of them is free, as soon as somebody has looked there in vain or released one.
///
/// # What it notices
///
/// Each operation reads what the server is known by: its system identifier and timeline, and the numbers of the
/// database and the tables. One of them changes when a standby is promoted, when a server is restored to
/// a point in time, when database or dump are restored or copied, and when leases are truncated. Each namespace
/// then begins in quarantine: nothing is granted for the longest TTL and 20 s
/// ([`StoreError::Quarantined`]). So an asynchronous standby may be promoted. A schema that is made while
/// processes are connected that have used an older one begins in quarantine too, and so does a namespace whose
/// row is gone while its leases are there. `VACUUM FULL` and `CLUSTER` of the leases look like a truncation.
///
/// No time heals a [counter](crate::segment) that may have gone back: then counters are
/// refused as [`StoreError::CounterLost`], those too that the store does not know, until somebody says
/// where each goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - The files of the server, or its machine, set back while it was down, and leases deleted by hand that no
///   holder is left to miss: call [`quarantine`](LeaseStore::quarantine) then, and
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
pub struct Postgres {
    // Before the runtime, which its task belongs to.
    link: Link,
    runtime: Blocking,
    /// Where the servers are, for people.
    place: String,
    namespace: Namespace,
    /// How long an operation on few node ids may take.
    limit: Duration,
}

impl Ledger<Postgres> {
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
        Self::at(&Server::at(url, Engine::Postgres)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let postgres = Postgres::at(server, namespace)?;
        let store = Self::over(postgres, namespace.clone());
        let mut store = store.compared_with(Arc::new(ExactSystemClock));
        store.check()?;
        Ok(store)
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
        Self::at(&Server::at(url, Engine::Postgres)?, namespace)
    }

    fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let files = Files::asked_by(server)?;
        Ok(Self {
            link: Link {
                target: Target {
                    config: settings(server, files.is_some()),
                    files,
                    owner: server.option("owner").map(str::to_owned),
                },
                session: None,
                first: None,
            },
            runtime: Blocking::new()?,
            place: server.address.to_string(),
            namespace: namespace.clone(),
            limit: ANSWER_LIMIT,
        })
    }

    /// Reads.
    fn ask<T: Send>(
        &mut self,
        node_ids: usize,
        operation: impl Operation<T>,
    ) -> Result<T, StoreError> {
        let limit = with_node_ids(self.limit, node_ids);
        self.wait(async |link, namespace| link.ask(namespace, limit, &operation).await)
    }

    /// Writes; nothing if the connection is another one than what was to be written was read from.
    fn tell<T: Send>(
        &mut self,
        node_ids: usize,
        operation: impl Operation<T>,
    ) -> Result<Option<T>, StoreError> {
        let limit = with_node_ids(self.limit, node_ids);
        self.wait(async |link, namespace| link.tell(namespace, limit, &operation).await)
    }

    fn wait<T: Send>(
        &mut self,
        work: impl AsyncFnOnce(&mut Link, &Namespace) -> Result<T, Failure> + Send,
    ) -> Result<T, StoreError> {
        if self.runtime.is_inherited() {
            mem::forget(self.link.session.take());
            self.runtime = Blocking::new()?;
        }
        let Self {
            link,
            runtime,
            place,
            namespace,
            ..
        } = self;
        runtime.wait(|runtime| {
            let done = runtime.block_on(work(link, namespace));
            done.map_err(|failure| failure.at(place))
        })
    }
}

impl Debug for Postgres {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("place", &self.place)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Backend for Postgres {
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError> {
        let node_ids = wanted.nodes.len() + wanted.free;
        self.ask(node_ids, async |session, namespace| {
            read::view(session, namespace, wanted).await
        })
    }

    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError> {
        let committed = self.tell(change.nodes.len(), async |session, namespace| {
            write::commit(session, namespace, change).await
        })?;
        Ok(committed.unwrap_or(Committed::Stale))
    }

    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError> {
        let node_ids = usize::try_from(self.namespace.node_ids()).unwrap_or(usize::MAX);
        self.ask(node_ids, async |session, namespace| {
            read::list(session, namespace).await
        })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.ask(0, async |session, _| diagnosis::findings(session).await)
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.limit = time_limit(ttl);
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

/// A number as PostgreSQL keeps it. Nothing that is kept exceeds that; what is compared may.
fn sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
