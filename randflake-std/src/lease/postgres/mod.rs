//! Leases and counters in a PostgreSQL database.

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

use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use self::failure::Failure;
use self::session::Session;
use self::tls::Target;
use super::database::{ANSWER_LIMIT, Seen, time_limit, with_node_ids};
use super::encryption::Files;
use super::runtime::Blocking;
use super::url::{Engine, Host, Server};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// A store of leases and counters in a PostgreSQL database, for the processes of many machines.
///
/// It needs PostgreSQL 12 or later and makes a schema `randflake` in the database that the URL names,
/// with its tables and functions. A role that may not do that can use what a superuser has made, or the role
/// that the URL names: `owner=ROLE`. What anybody else has made or changed is refused before any of it is
/// run; the repository's `docs/databases.md` has a role's few rights. Each operation is one statement in one round trip, and durable when it returns: the session sets
/// `synchronous_commit=on`, whatever the server's settings say, and a server with `fsync=off` is
/// refused. The clock is the server's. It takes no part in an application's own runtime, and may be
/// used in a task of one.
///
/// # URL
///
/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `postgresql` as another name. Several servers of
/// one cluster stand with commas, `HOST1:PORT1,HOST2:PORT2`: the one is taken that is no standby. With
/// `?sslmode=verify-full` (feature `postgres-tls`) the connection is encrypted and the server's certificate
/// verified; else it is plain. [`open`](super::open) lists all options. A connection is made within 3 s, and
/// an operation answered within a sixth of the TTL, 0.5 s to
/// 3 s, plus 0.1 ms for each node id, or it is [`StoreError::Unavailable`]; a connection that was lost is
/// replaced by the next operation.
///
/// Connection poolers must keep sessions (`pool_mode=session` of `PgBouncer`).
///
/// # What it notices
///
/// The database holds a random number, and the server's system identifier and timeline, which change
/// when a standby is promoted, when a server is restored to a point in time, and when the database is
/// restored into another server. Whoever connects first afterwards fences the store: nothing is granted
/// for the longest TTL and 10 s ([`StoreError::Fenced`]), and no lease from before is renewed. So an
/// asynchronous standby may be promoted. A process also notices that the schema was dropped, or is
/// another one, and fences it.
///
/// No time heals a [counter](crate::segment) that may have gone back: where leases are fenced, counters are
/// refused as [`StoreError::CounterLost`], those too that the store does not know, until somebody says
/// where each goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - A database restored from a dump into the same server, or a file system set back while the server
///   was down: call [`fence`](LeaseStore::fence) then, and [`resume`](SegmentStore::resume) each counter
///   further on.
/// - A promoted standby *and* the former primary both in use, the split brain: each grants the same
///   node ids. Make sure that the former primary is down before the standby is promoted
///   (`synchronous_standby_names` keeps a cut-off primary from granting anything).
/// - The schema dropped while no process runs: the next one makes it anew, grants at once, and counts
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
pub struct PostgresStore {
    target: Target,
    /// Where the servers are, for people.
    place: String,
    namespace: Namespace,
    // Before the runtime, which its task belongs to.
    session: Option<Session>,
    runtime: Blocking,
    seen: Seen,
    /// How long an operation on few node ids may take.
    limit: Duration,
}

impl PostgresStore {
    /// Opens the store that a URL names, creating schema and namespace if they are not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood or names no host;
    /// [`StoreError::Unusable`] when the server's certificate is not trusted, the server refuses user,
    /// password or database, runs with `fsync=off`, has a schema that another role has made and
    /// `owner` does not name, has the namespace with another layout, or has another version's schema, and when
    /// this build cannot encrypt but should; [`StoreError::Unavailable`] when there is no answer, or
    /// no server but standbys. No error shows a password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Postgres)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let files = Files::asked_by(server)?;
        let config = settings(server, files.is_some());
        let mut store = Self {
            target: Target {
                config,
                files,
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
        operation: impl AsyncFn(&Session) -> Result<T, Failure> + Sync,
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
            ..
        } = self;
        let limit = with_node_ids(*limit, node_ids);
        let mut work = async || {
            if let Some(open) = session.take_if(|session| !session.client.is_closed()) {
                match attempt(&open, limit, &operation).await {
                    Err(failure) if failure.is_of_the_connection() => {}
                    outcome => {
                        *session = is_fit(&outcome).then_some(open);
                        return outcome;
                    }
                }
            }
            let open = Session::open(target, namespace, seen).await?;
            let outcome = attempt(&open, limit, &operation).await;
            *session = is_fit(&outcome).then_some(open);
            outcome
        };
        runtime.wait(|runtime| {
            runtime
                .block_on(work())
                .map_err(|failure| failure.at(place))
        })
    }
}

impl Debug for PostgresStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("place", &self.place)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for PostgresStore {
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
        self.operate(0, async |session| operations::now(session).await)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.operate(0, async |session| diagnosis::findings(session).await)
    }
}

async fn attempt<T>(
    session: &Session,
    limit: Duration,
    operation: &impl AsyncFn(&Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    timeout(limit, operation(session))
        .await
        .unwrap_or(Err(Failure::TimeOut))
}

/// Whether the connection can be used again: what the store itself refuses leaves it as it was.
fn is_fit<T>(outcome: &Result<T, Failure>) -> bool {
    matches!(outcome, Ok(_) | Err(Failure::Store(_)))
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
