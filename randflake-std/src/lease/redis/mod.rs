//! Leases and counters on a Redis server.

mod connection;
mod counter;
mod diagnosis;
mod rights;
mod script;
#[cfg(feature = "redis-tls")]
#[path = "tls/enabled.rs"]
mod tls;
#[cfg(not(feature = "redis-tls"))]
#[path = "tls/disabled.rs"]
mod tls;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use randflake_core::Clock;

use self::connection::Connection;
use self::script::{Context, Reply, Scripts, not_understood};
use super::moment;
use super::url::{Engine, Server};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// A store of leases and counters on a Redis or Valkey server, 5.0 or newer, shared by the processes of many machines.
///
/// Each operation is one script, so it happens as a whole, at one reading of the server's clock; its
/// cost does not grow with the number of leases. A namespace is four keys without a time to live. A
/// call ends within a quarter of the TTL: connecting has a twelfth of it, at most 5 s, and each of
/// two tries as much. The server's name is looked up without a limit.
///
/// # Rights
///
/// From Redis 6 on, a user needs these rights and no others, on the keys of the namespaces that it uses
/// (`~randflake:{orders}:*` for one):
///
/// ```text
/// ACL SETUSER ids on >PASSWORD ~randflake:* +info +time +script|load +evalsha +multi +exec +del +exists +hdel +hget +hgetall +hincrby +hlen +hmget +hset +zadd +zcard +zrange +zrangebyscore +zscore
/// ```
///
/// `+select` is needed where the URL has another database than 0, and `+config|get` for `randflake doctor` to know
/// `appendfsync`. A user who lacks a right is refused as [`StoreError::Unusable`], with its name, before anything
/// is written.
///
/// **Redis Cluster.** The keys of a namespace stand on one node (they share a hash tag), and the URL must name
/// that one: redirections are not followed, because another node that has the keys is a failover or a move,
/// after which somebody should look. Another node is refused as [`StoreError::Unusable`], with the address of
/// the one that has the namespace. A replica that takes over is noticed as in the table below.
///
/// # What it notices
///
/// The namespace holds the server's run id, which is another in each process of Redis.
///
/// | what happened                                                | what it does                      |
/// |--------------------------------------------------------------|-----------------------------------|
/// | the namespace is not there, nor can it have been: it is new  | grants at once                    |
/// | it is not there, and the server is younger than the wait     | fenced, for the rest of the wait  |
/// | it was deleted, flushed, swapped away or evicted             | fenced                            |
/// | the server was restarted, or its data restored               | fenced; what is held goes on      |
/// | a replica took over                                          | fenced; what is held goes on      |
///
/// Fenced is [`StoreError::Fenced`]: for the longest TTL and 10 s. So a new server grants its first
/// node id 310 s after its start, and a namespace with a [shorter](Namespace::with_max_ttl) longest TTL
/// sooner. What is held goes on: a lease that the server still knows is renewed.
///
/// A server is refused if it evicts keys that have no time to live (`maxmemory-policy` `allkeys-*`).
/// Without `appendonly`, or with another `appendfsync` than `always`, a crash loses leases, which is
/// noticed as above.
///
/// A [counter](crate::segment) is one more key. No time heals one that may have gone back, and no sign
/// tells a new server from one that has forgotten everything. So each counter is begun by somebody, with
/// [`resume`](SegmentStore::resume), and after every restart and failover of the server it is refused as
/// [`StoreError::CounterLost`] until somebody says where it goes on.
///
/// # What it cannot notice
///
/// - Two masters that are reached at once, as in a split network: both grant. `min-replicas-to-write`
///   narrows that.
/// - The namespace's keys deleted one by one (`DEL`), before any process that still runs has come back
///   to them, on a server that is older than the wait.
/// - A server whose statistics were reset (`CONFIG RESETSTAT`) after it was flushed.
///
/// ```no_run
/// use randflake_std::lease::{Namespace, RedisStore};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let store = RedisStore::open("redis://:password@redis.example:6379/0", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("/etc/orders/randflake.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RedisStore {
    connection: Connection,
    scripts: Scripts,
    namespace: Namespace,
    /// In the place of the server's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// As the namespace has it: it keeps that when it has to be created anew.
    max_ttl: Duration,
    /// The latest end of all leases, once the namespace was seen.
    seen_end: Option<u64>,
}

impl RedisStore {
    /// Opens the store on the server of a URL, `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`, and
    /// creates the namespace if it is not there. `rediss://` is with TLS, which needs the cargo feature
    /// `redis-tls`; [`open`](super::open) says which certificates are trusted. `redis+unix:///PATH` is a
    /// socket of this machine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when the server's certificate is
    /// not trusted, or the server refuses the user, is the wrong node of a cluster,
    /// evicts keys, or has the namespace with another layout or of a newer version.
    /// [`StoreError::Unavailable`] when it does not answer.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Redis)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::opened(server, namespace, None)
    }

    /// [`open`](RedisStore::open) with another clock than the server's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](RedisStore::open).
    pub fn open_with_clock<C>(
        url: &str,
        namespace: &Namespace,
        clock: Arc<C>,
    ) -> Result<Self, StoreError>
    where
        C: Clock + Send + Sync + 'static,
    {
        Self::opened(&Server::at(url, Engine::Redis)?, namespace, Some(clock))
    }

    fn opened(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        let mut store = Self {
            connection: Connection::new(server)?,
            scripts: Scripts::new(),
            namespace: namespace.clone(),
            clock,
            max_ttl: namespace.max_ttl(),
            seen_end: None,
        };
        diagnosis::check(&mut store.connection)?;
        rights::check(&mut store.connection, &store.scripts.open)?;
        store.look()?;
        Ok(store)
    }

    /// Creates the namespace or checks it; how long nothing is granted.
    fn look(&mut self) -> Result<Duration, StoreError> {
        let reply = self.operate(|scripts| &scripts.open, |_| {})?;
        self.max_ttl = Duration::from_millis(reply.number(0)?);
        Ok(reply.now.fence_left(reply.number(1)?))
    }

    fn operate(
        &mut self,
        script: impl Fn(&Scripts) -> &redis::Script,
        arguments: impl FnOnce(&mut redis::ScriptInvocation<'_>),
    ) -> Result<Reply, StoreError> {
        let now = match &self.clock {
            Some(clock) => Some(moment::read(&**clock)?),
            None => None,
        };
        let context = Context {
            namespace: &self.namespace,
            now,
            seen_end: self.seen_end,
            max_ttl: self.max_ttl,
        };
        let mut invocation = context.invocation(script(&self.scripts));
        arguments(&mut invocation);
        let reply = context.run(&mut self.connection, &invocation)?;
        self.seen_end = self.seen_end.max(Some(reply.latest_end));
        Ok(reply)
    }

    /// A TTL in ticks as a time span.
    fn span(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks.saturating_mul(self.namespace.spec().tick_ms()))
    }
}

impl Debug for RedisStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("server", &self.connection)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for RedisStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        // The longest TTL is the script's to check.
        StoreError::check(request, &self.namespace, Duration::MAX)?;
        self.connection.limit_for(self.span(request.ttl));
        let reply = self.operate(
            |scripts| &scripts.acquire,
            |script| {
                script
                    .arg(request.token.to_string())
                    .arg(request.holder)
                    .arg(request.count)
                    .arg(request.ttl);
            },
        )?;
        Ok(Acquired {
            grants: reply.grants(request.token)?,
            now: reply.now.unix,
        })
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        StoreError::check_ttl(ttl, &self.namespace, Duration::MAX)?;
        self.connection.limit_for(self.span(ttl));
        let reply = self.operate(
            |scripts| &scripts.renew,
            |script| {
                script.arg(ttl);
                for grant in grants {
                    name_grant(script, grant);
                }
            },
        )?;
        Ok(Renewed {
            ends: reply.numbers()?,
            now: reply.now.unix,
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.operate(
            |scripts| &scripts.release,
            |script| {
                for grant in grants {
                    name_grant(script, grant);
                    script.arg(grant.end);
                }
            },
        )?;
        Ok(())
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let [_, ends, leases, _] = script::keys(&self.namespace);
        let (ends, leases): (Vec<(u32, f64)>, HashMap<u32, String>) =
            self.connection.run(|redis| {
                let mut both = rights::transaction();
                both.zrange_withscores(&ends, 0, -1)
                    .ignore()
                    .hgetall(&leases)
                    .ignore();
                rights::ended(both, redis)
            })?;
        let record = |(node_id, end): (u32, f64)| {
            let lease = leases.get(&node_id)?;
            script::record(node_id, end, lease)
        };
        let records: Option<Vec<_>> = ends.into_iter().map(record).collect();
        let mut records = records.ok_or_else(not_understood)?;
        records.sort_unstable_by_key(|record| record.grant.node_id);
        Ok(records)
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        let reply = self.operate(|scripts| &scripts.fence, |_| {})?;
        Ok(reply.now.until(reply.number(0)?))
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        if let Some(clock) = &self.clock {
            return moment::read(&**clock);
        }
        let (seconds, micros): (u64, u32) = self
            .connection
            .run(|redis| redis::cmd("TIME").query(redis))?;
        Ok(Duration::new(seconds, micros.saturating_mul(1_000)))
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = diagnosis::findings(&mut self.connection)?;
        findings.push(Finding::fence(self.look()?));
        Ok(findings)
    }
}

/// What names a grant to a script.
fn name_grant(script: &mut redis::ScriptInvocation<'_>, grant: &Grant) {
    script
        .arg(grant.node_id)
        .arg(grant.fencing_token)
        .arg(grant.token.to_string());
}
