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
mod url;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Clock;
use redis::TypedCommands;

use self::connection::Connection;
use self::script::{Hints, Look, Scripts, Write};
#[cfg(doc)]
use super::LeaseStore;
use super::url::{Engine, Server};
use super::{Finding, Namespace, StoreError};
use crate::ExactSystemClock;
use crate::ledger::{
    Backend, Change, Committed, Continuity, Ledger, NamespaceRecord, Node, NodeRecord, View,
    Wanted, read_clock,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// A store of leases and counters on a Redis or Valkey server, 5.0 or newer, shared by the processes of many machines.
///
/// One script reads and one writes if what was read is still so: a renewal is one, an acquire two. Their
/// cost does not grow with the number of leases. A namespace is three keys without a time to live. A
/// call ends within a quarter of the TTL: connecting has a twelfth of it, at most 5 s, and each of
/// two tries as much. The server's name is looked up without a limit.
///
/// # Rights
///
/// From Redis 6 on, a user needs these rights and no others, on the keys of the namespaces that it uses
/// (`~randflake:{orders}:*` for one):
///
/// ```text
/// ACL SETUSER ids on >PASSWORD ~randflake:* +info +time +script|load +evalsha +get +set +hgetall +hlen +hmget +hset +zadd +zcard +zcount +zrange +zscore
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
/// Nothing on the server tells a new namespace from one that was forgotten. So before the first lease somebody says
/// that it is new, by [`end_quarantine`](LeaseStore::end_quarantine) (`randflake lease init`), or it waits.
///
/// | what happened                                                      | what it does                         |
/// |--------------------------------------------------------------------|--------------------------------------|
/// | the namespace is not there: new, deleted, flushed, evicted         | quarantine                           |
/// | the server was restarted, or its data restored                     | quarantine; what is held goes on     |
/// | a replica took over                                                | quarantine; what is held goes on     |
/// | keys were put back: `RESTORE`, `COPY`, `MOVE`, `SWAPDB`, `DEBUG`   | quarantine; what is held goes on     |
/// | node ids were deleted: all, or one that is held                    | quarantine                           |
/// | it evicts keys without a time to live (`maxmemory-policy allkeys-*`) | refused, as long as it does        |
///
/// The quarantine is [`StoreError::Quarantined`]: for the longest TTL and 20 s; where the namespace's record is
/// not there, for 320 s at least. What is held goes on: a lease that the server still knows is renewed.
///
/// The server counts how often it flushed, restored, copied or swapped keys, of any program and database; so such a
/// command for another one sets a quarantine too, as `CONFIG RESETSTAT` does after one. Where that is frequent, leases
/// want a server of their own.
///
/// Without `appendonly`, or with another `appendfsync` than `always`, a crash loses leases, which is
/// noticed as above.
///
/// A [counter](crate::segment) is one more key. No time heals one that may have gone back, and no sign
/// tells a new server from one that has forgotten everything. So each counter is begun by somebody, with
/// [`resume`](SegmentStore::resume), and after every restart and failover of the server, and when keys may have been put
/// back, it is refused as [`StoreError::CounterLost`] until somebody says where it goes on.
///
/// # What it cannot notice
///
/// - Two masters that are reached at once, as in a split network: both grant. `min-replicas-to-write`
///   narrows that.
/// - Single fields of the namespace's keys that somebody writes or deletes (`HSET`, `HDEL`), until their holder
///   renews.
/// - Keys put back under other commands than those above, such as `RENAME`, or before the server's statistics were
///   reset (`CONFIG RESETSTAT`).
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
pub type RedisStore = Ledger<Redis>;

/// One namespace on a server.
pub struct Redis {
    connection: Connection,
    scripts: Scripts,
    namespace: Namespace,
    /// In the place of the server's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// Of the last read, for its commit: the server, the mark and the hints.
    server: script::Server,
    mark: String,
    hints: Hints,
}

impl Ledger<Redis> {
    /// Opens the store on the server of a URL, `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`.
    /// `rediss://` is with TLS, which needs the cargo feature
    /// `redis-tls`; [`open`](super::open) says which certificates are trusted. `redis+unix:///PATH` is a
    /// socket of this machine. Nothing is written before the first acquire.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when the server's certificate is
    /// not trusted, or the server refuses the user, is the wrong node of a cluster,
    /// evicts keys, or has the namespace with other terms or of a newer version.
    /// [`StoreError::Unavailable`] when it does not answer.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Redis)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let store = Self::over(Redis::new(server, namespace, None)?, namespace.clone());
        store.compared_with(Arc::new(ExactSystemClock)).checked()
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
        let server = Server::at(url, Engine::Redis)?;
        let redis = Redis::new(&server, namespace, Some(clock))?;
        Self::over(redis, namespace.clone()).checked()
    }

    fn checked(mut self) -> Result<Self, StoreError> {
        let Redis {
            connection,
            scripts,
            ..
        } = &mut self.backend;
        rights::check(connection, [&scripts.look, &scripts.commit])?;
        self.check()?;
        Ok(self)
    }
}

impl Redis {
    fn new(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::new(server)?,
            scripts: Scripts::new(),
            namespace: namespace.clone(),
            clock,
            server: script::Server::default(),
            mark: String::new(),
            hints: Hints::default(),
        })
    }

    /// What stands in braces places all keys of a namespace on one node of a cluster.
    fn key(&self, part: &str) -> String {
        format!("randflake:{{{}}}:{part}", self.namespace.name())
    }

    fn keys(&self, record: &str) -> [String; 3] {
        [record, "nodes", "ends"].map(|part| self.key(part))
    }

    fn look(&mut self, record: &str, wanted: &Wanted<'_>) -> Result<Look, StoreError> {
        let spec = self.namespace.spec();
        let now = self
            .clock
            .as_ref()
            .map(|clock| read_clock(&**clock))
            .transpose()?;
        let tick = now.map(|now| spec.tick_at(now).unwrap_or(0).to_string());
        let random = match wanted.free {
            0 => 0,
            _ => getrandom::u32().map_err(StoreError::unavailable)?,
        };
        let mut invocation = self.scripts.look.prepare_invoke();
        for key in self.keys(record) {
            invocation.key(key);
        }
        invocation
            .arg(tick.unwrap_or_default())
            .arg(spec.epoch_unix_ms())
            .arg(spec.tick_ms())
            .arg(wanted.free)
            .arg(self.namespace.node_ids())
            .arg(random)
            .arg(wanted.nodes);
        let look = Look::of(&mut self.connection, &invocation)?;
        Ok(Look {
            now: now.unwrap_or(look.now),
            ..look
        })
    }

    /// The namespace and its node ids; `None` if hints were wrong.
    fn view(&mut self, wanted: &Wanted<'_>) -> Result<Option<View>, StoreError> {
        let look = self.look("namespace", wanted)?;
        let refused = |what: String, why: String| {
            StoreError::Unusable(format!("{what} on the Redis server: {why}"))
        };
        let namespace = look.record.as_deref().map(NamespaceRecord::from_text);
        let name = self.namespace.name();
        let namespace = namespace
            .transpose()
            .map_err(|why| refused(format!("the namespace {name:?}"), why))?;
        let nodes = look.nodes.iter().map(|(node_id, text)| {
            let node_id = *node_id;
            let record = text.as_deref().map(|text| {
                let record = NodeRecord::from_text(node_id, text);
                record.ok_or_else(|| {
                    refused(
                        format!("node id {node_id} of {name:?}"),
                        "it is damaged".to_owned(),
                    )
                })
            });
            let record = record.transpose()?;
            Ok(Node { node_id, record })
        });
        let nodes: Vec<Node> = nodes.collect::<Result<_, StoreError>>()?;
        let tick = self.namespace.spec().tick_at(look.now).unwrap_or(0);
        let lives = |node: &Node| node.record.as_ref().is_some_and(|record| tick < record.end);
        let candidates = nodes.get(wanted.nodes.len()..).unwrap_or_default();
        if !look.is_indexed || candidates.iter().any(lives) {
            return Ok(None);
        }

        let stored = namespace.as_ref().map(|record| &*record.fingerprint);
        self.server = look.server.clone().after(stored);
        // One that is missing is made, and set by the commit that notes the quarantine.
        self.mark = match &look.mark {
            Some(mark) => mark.clone(),
            None => format!("{:x}", getrandom::u64().map_err(StoreError::unavailable)?),
        };
        let continuity = Continuity {
            fingerprint: self.server.fingerprint(look.replaced, &self.mark),
            fault: look.fault(),
            ..Continuity::default()
        };
        self.hints = look.hints;
        Ok(Some(View {
            now: look.now,
            continuity,
            namespace,
            nodes,
            is_sole: false,
            free_from: look.free_from,
        }))
    }

    /// Makes the hints anew: the server, or somebody, has lost or replaced a key.
    fn mend(&mut self) -> Result<(), StoreError> {
        let ends = self.key("ends");
        let records = self.list()?;
        for some in records.chunks(1_000) {
            let scores: Vec<_> = some
                .iter()
                .map(|record| (record.end, record.node_id))
                .collect();
            self.connection
                .run(|redis| redis.zadd_multiple(&ends, &scores))?;
        }
        Ok(())
    }

    /// When it was written; `None`: something had changed.
    fn write(&mut self, record: &str, write: &Write) -> Result<Option<Duration>, StoreError> {
        let mut invocation = self.scripts.commit.prepare_invoke();
        for key in self.keys(record) {
            invocation.key(key);
        }
        let Some(now) = write.run(&mut self.connection, &mut invocation)? else {
            return Ok(None);
        };
        match &self.clock {
            Some(clock) => read_clock(&**clock).map(Some),
            None => Ok(Some(now)),
        }
    }
}

impl Backend for Redis {
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError> {
        if let Some(view) = self.view(wanted)? {
            return Ok(view);
        }
        self.mend()?;
        let view = self.view(wanted)?;
        view.ok_or_else(|| StoreError::unavailable("the node ids on the server changed meanwhile"))
    }

    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError> {
        let before = change.namespace_before.as_ref();
        let was_read = change.window.is_none();
        let write = Write {
            server: match before {
                Some(before) if !was_read => script::Server::of(&before.fingerprint),
                _ => self.server.clone(),
            },
            before: before.map(NamespaceRecord::to_text),
            after: change
                .namespace_after
                .as_ref()
                .map(NamespaceRecord::to_text),
            mark: change.namespace_after.as_ref().map(|_| self.mark.clone()),
            hints: core::mem::take(&mut self.hints),
            change: Some(change.clone()),
        };
        Ok(match self.write("namespace", &write)? {
            Some(now) => Committed::Done { now },
            None => Committed::Stale,
        })
    }

    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError> {
        let nodes = self.key("nodes");
        let texts = self.connection.run(|redis| redis.hgetall(&nodes))?;
        let texts = texts.into_iter().filter(|(name, _)| &**name != "mark");
        let records = texts.map(|(name, text)| NodeRecord::from_text(name.parse().ok()?, &text));
        let mut records = records.collect::<Option<Vec<_>>>().ok_or_else(|| {
            StoreError::Unusable("the node ids on the Redis server are damaged".to_owned())
        })?;
        records.sort_unstable_by_key(|record| record.node_id);
        Ok(records)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        diagnosis::findings(&mut self.connection)
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.connection.limit_for(ttl);
    }
}

impl Debug for Redis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("server", &self.connection)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
