//! Leases and counters in a MySQL or MariaDB database.

mod counter;
mod diagnosis;
mod failure;
mod operations;
mod owner;
mod session;
mod tls;

use core::fmt::{self, Debug, Formatter};
use core::mem;
use core::time::Duration;

use mysql_async::{Opts, OptsBuilder};
use tokio::time::timeout;

use self::failure::Failure;
use self::session::Session;
use self::tls::Target;
use super::database::{ANSWER_LIMIT, Seen, time_limit, with_node_ids};
use super::encryption::Files;
use super::runtime::Blocking;
use super::url::{Engine, Server};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// A store of leases and counters in a `MySQL` or `MariaDB` database, for the processes of many machines.
///
/// It needs `MySQL` 8.0.21 or `MariaDB` 10.6 and makes tables and procedures `randflake_...` in the
/// database that the URL names. A user who may not do that can use what the user has made whom the URL
/// names: `owner=USER`. What anybody else has made or changed is refused before any of it is run; the
/// repository's `docs/databases.md` has a user's few rights. Each operation is one call of one procedure in one round trip, and durable when it returns: a connection is refused
/// where `innodb_flush_log_at_trx_commit` is not 1, or `log_bin` is on and `sync_binlog` not 1, which is 0
/// in `MariaDB` unless set. The clock is the server's.
///
/// # URL
///
/// `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, for `MariaDB` too. With `?sslmode=verify-full` (feature
/// `mysql-tls`) the connection is encrypted and the server's certificate verified; else it is plain.
/// [`open`](super::open) lists all options. A
/// connection is made within 3 s, and an operation answered within a sixth of the TTL, 0.5 s to 3 s, plus
/// 0.1 s for each thousand node ids, or it is [`StoreError::Unavailable`]; a connection that was lost is
/// replaced by the next operation.
///
/// # What it notices
///
/// The database holds a random number and the server's: `server_uuid`; in `MariaDB`, which has none, its
/// `server_id` with the time at which the table's definition came onto its disk. These are others on a
/// replica, and in a restored database. Whoever connects first afterwards fences the store: nothing is
/// granted for the longest TTL and 10 s ([`StoreError::Fenced`]), and no lease from before is renewed. So
/// an asynchronous replica may be promoted. A process also notices that the tables were dropped, or are
/// others, and fences the store. A server that is `read_only`, as replicas should be, is not used.
///
/// No time heals a [counter](crate::segment) that may have gone back: where leases are fenced, counters are
/// refused as [`StoreError::CounterLost`], those too that the store does not know, until somebody says
/// where each goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - `MySQL`: a dump restored into the same server, or a data directory set back with its `auto.cnf`:
///   call [`fence`](LeaseStore::fence) then, and [`resume`](SegmentStore::resume) each counter further
///   on. `MariaDB`: a disk set back as a whole.
/// - A promoted replica *and* the former primary both in use, the split brain: each grants the same
///   node ids. Make sure that the former primary is down before the replica is promoted. The same holds
///   for two servers that replicate each other, and for all but one member of a Galera cluster.
/// - The tables dropped while no process runs: the next one makes them anew, grants at once, and
///   counts from 1.
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
pub struct MysqlStore {
    target: Target,
    /// Where the server is, for people.
    place: String,
    namespace: Namespace,
    // Before the runtime, which its socket belongs to.
    session: Option<Session>,
    runtime: Blocking,
    seen: Seen,
    /// How long an operation on few node ids may take.
    limit: Duration,
}

impl MysqlStore {
    /// Opens the store that a URL names, creating tables, procedures and namespace if they are not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood or names no database;
    /// [`StoreError::Unusable`] when the server's certificate is not trusted, the server refuses user,
    /// password or database, is too old, has
    /// tables that another user has made and `owner` does not name, has
    /// another `innodb_flush_log_at_trx_commit` than 1, or `log_bin` with another `sync_binlog` than 1, has
    /// the namespace with another layout, or has
    /// another version's tables, and when this build cannot encrypt but should;
    /// [`StoreError::Unavailable`] when there is no answer, or the server is read-only. No error shows a
    /// password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Mysql)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let mut store = Self {
            target: Target {
                options: settings(server)?,
                files: Files::asked_by(server)?,
                owner: server.option("owner").map(str::to_owned),
            },
            place: server.address.to_string(),
            namespace: namespace.clone(),
            session: None,
            runtime: Blocking::new()?,
            seen: Seen::default(),
            limit: ANSWER_LIMIT,
        };
        store.operate(0, async |_| Ok(()))?;
        Ok(store)
    }

    /// One operation on some node ids. On a connection that was open before and fails, it is repeated
    /// on a new one: none does harm.
    fn operate<T: Send>(
        &mut self,
        node_ids: usize,
        operation: impl AsyncFn(&mut Session) -> Result<T, Failure> + Sync,
    ) -> Result<T, StoreError> {
        if self.runtime.is_inherited() {
            mem::forget(self.session.take());
            self.runtime = Blocking::new()?;
        }
        let Self {
            target,
            place,
            namespace,
            session,
            runtime,
            seen,
            limit,
        } = self;
        let limit = with_node_ids(*limit, node_ids);
        let mut work = async || {
            if let Some(mut open) = session.take() {
                match attempt(&mut open, limit, &operation).await {
                    Err(failure) if failure.is_of_the_connection() => {}
                    outcome => {
                        *session = is_fit(&outcome).then_some(open);
                        return outcome;
                    }
                }
            }
            let mut open = Session::open(target, namespace, seen).await?;
            let outcome = attempt(&mut open, limit, &operation).await;
            *session = is_fit(&outcome).then_some(open);
            outcome
        };
        let outcome = runtime.wait(|runtime| {
            let outcome = runtime.block_on(work());
            outcome.map_err(|failure| failure.at(place, target.files.is_some()))
        });
        if self.session.is_none() {
            // The client would say goodbye on a connection that failed, after the answer still to come.
            self.runtime = Blocking::new()?;
        }
        outcome
    }
}

impl Drop for MysqlStore {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        if self.runtime.is_inherited() {
            return mem::forget(session);
        }
        // A server that hears no goodbye counts the connection as aborted.
        let goodbye = async { timeout(ANSWER_LIMIT, session.connection.disconnect()).await };
        let _gone_already = self.runtime.wait(|runtime| Ok(runtime.block_on(goodbye)));
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
        .prefer_socket(false);
    Ok(options.into())
}

async fn attempt<T>(
    session: &mut Session,
    limit: Duration,
    operation: &impl AsyncFn(&mut Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    timeout(limit, operation(session))
        .await
        .unwrap_or(Err(Failure::TimeOut))
}

/// Whether the connection can be used again: what the store itself refuses leaves it as it was.
fn is_fit<T>(outcome: &Result<T, Failure>) -> bool {
    matches!(outcome, Ok(_) | Err(Failure::Store(_)))
}

impl Debug for MysqlStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlStore")
            .field("place", &self.place)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for MysqlStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.limit = time_limit(request.ttl, self.namespace.spec());
        let acquired = self.operate(request.count as usize, async |session| {
            operations::acquire(session, request).await
        })?;
        let ends = acquired.grants.iter().map(|grant| grant.end);
        self.seen.remember(ends, self.namespace.spec());
        Ok(acquired)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.limit = time_limit(ttl, self.namespace.spec());
        let renewed = self.operate(grants.len(), async |session| {
            operations::renew(session, grants, ttl).await
        })?;
        let ends = renewed.ends.iter().copied().flatten();
        self.seen.remember(ends, self.namespace.spec());
        Ok(renewed)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.operate(grants.len(), async |session| {
            operations::release(session, grants).await
        })
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let node_ids = usize::try_from(self.namespace.node_ids()).unwrap_or(usize::MAX);
        self.operate(node_ids, async |session| operations::list(session).await)
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        self.operate(0, async |session| operations::fence(session).await)
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        self.operate(0, async |session| {
            let unix_us = operations::clock(session).await?;
            Ok(Duration::from_micros(unix_us))
        })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.operate(0, async |session| diagnosis::findings(session).await)
    }
}
