//! Leases and counters on a Redis server.

mod connection;
mod diagnosis;
mod in_time;
mod rights;
mod server;
#[cfg(feature = "redis-tls")]
#[path = "tls/enabled.rs"]
mod tls;
#[cfg(not(feature = "redis-tls"))]
#[path = "tls/disabled.rs"]
mod tls;
mod url;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;
use redis::{RedisResult, Script};

use self::connection::Connection;
use self::in_time::InTime;
use self::server::{REPLACING, Server, field};
#[cfg(doc)]
use super::LeaseStore;
use super::url::{self as store_url, Engine as Scheme};
use super::{EngineError, Finding, Namespace, StoreError};
use crate::ledger::{
    Before, Committed, Continuity, Engine, Entry, Key, Keys, Ledger, Reading, Write, read_clock,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// What the server is asked for together: a hash's fields, `INFO` of replication, commands and memory, and its clock.
type Told = (
    RedisResult<Vec<Option<String>>>,
    RedisResult<String>,
    RedisResult<String>,
    RedisResult<String>,
    RedisResult<(u64, u32)>,
);

/// Beside the texts of the ledger: the master that the server took over from, which it forgets after a while.
const PROMOTED: &str = "promoted";
/// Fields of one reply of a list.
const LISTED_AT_ONCE: u32 = 1_000;

/// A store of leases and counters on a Redis or Valkey server, 5.0 or newer, shared by the processes of many machines.
///
/// Each namespace is one key without a time to live, `randflake:{NAME}`: a hash with a field for the namespace's record,
/// its counter, each node id from its first lease on, each page of 64 node ids that was found full, and nine hints to free
/// node ids. An acquire is two round trips, a read and a script that writes if nothing of what was read has changed; it is
/// more when nearly all node ids are leased and none was released lately. A renewal is one. The cost does not grow with the
/// number of leases. Times come from the server's clock.
///
/// A call ends within a quarter of the TTL: connecting may take a twelfth, at most 5 s, and each of two tries as much.
/// Looking up the server's name has no limit.
///
/// # Rights
///
/// From Redis 6 on, a user needs these rights and no others, on the keys of its namespaces (`~randflake:{orders}`
/// for one of them):
///
/// ```text
/// ACL SETUSER ids on >PASSWORD ~randflake:* +info +time +script|load +evalsha +hmget +hscan +hset
/// ```
///
/// `+select` is needed if the URL names another database than 0, and `+config|get` lets `randflake doctor` read
/// `appendfsync`. `randflake lease namespaces` needs `+scan`, and `randflake lease drop` needs `+del`. If a right is missing, the store fails as [`StoreError::Unusable`] and names it, before anything is
/// written.
///
/// **Redis Cluster.** A namespace is stored on one node, and the URL must name that node. Redirections are not followed: if
/// another node has the key, there was a failover or a move, and an operator should look first. A wrong node is refused as
/// [`StoreError::Unusable`], with the address of the right one. A replica that takes over is noticed as in the table below.
///
/// # What it notices
///
/// Nothing on the server tells a new namespace from a forgotten one. So before the first lease an operator declares it new,
/// by [`end_quarantine`](LeaseStore::end_quarantine) (`randflake lease init`), or the namespace waits for a quarantine.
///
/// | what happened                                                        | what it does                           |
/// |----------------------------------------------------------------------|----------------------------------------|
/// | the namespace is missing: new, deleted, flushed, evicted             | quarantine                             |
/// | the server was restarted, or its data restored                       | quarantine; live leases can be renewed |
/// | a replica took over                                                  | quarantine; live leases can be renewed |
/// | keys were put back: `RESTORE`, `COPY`, `MOVE`, `SWAPDB`, `DEBUG`     | quarantine; live leases can be renewed |
/// | a node id's field was deleted while it is held                       | quarantine, once its holder renews     |
/// | it evicts keys without a time to live (`maxmemory-policy allkeys-*`) | refused until that is changed          |
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s; if the namespace's record is missing, at least
/// 320 s. A lease that the server still knows can be renewed meanwhile.
///
/// The server counts how often any program restored, copied or swapped keys, in all databases. So such a command for
/// another program's keys also starts a quarantine, and so does `CONFIG RESETSTAT` after one. If such commands are frequent,
/// use a server of its own for leases.
///
/// Without `appendonly`, or with another `appendfsync` than `always`, a crash loses leases. That is noticed as a restart.
///
/// A [counter](crate::segment) is one more field. A counter that may have gone back cannot be repaired by waiting, and
/// nothing tells a new server from one that has forgotten everything. So an operator starts each counter with
/// [`resume`](SegmentStore::resume). After each restart and failover of the server, and when keys may have been put back,
/// it fails as [`CounterError::Lost`](crate::segment::CounterError::Lost) until an operator resumes it.
///
/// # What it cannot notice
///
/// - Two masters reachable at once, as in a split network: both grant. `min-replicas-to-write` narrows that.
/// - Single fields of the namespace's key written or deleted by somebody else (`HSET`, `HDEL`), until their holder renews.
/// - Keys put back by other commands than those above, such as `RENAME`, or before the server's statistics were reset
///   (`CONFIG RESETSTAT`).
/// ```no_run
/// use randflake_std::lease::{Namespace, RedisStore};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = RedisStore::open("redis://:password@redis.example:6379/0", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("/etc/orders/randflake.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type RedisStore = Ledger<Redis>;

/// One namespace on a server.
pub struct Redis {
    connection: Connection,
    script: Script,
    /// The namespace's hash. What stands in braces places it on a node of a cluster.
    hash: String,
    /// In the place of the server's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
}

impl RedisStore {
    /// Opens the store on the server of a URL, `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`.
    /// `rediss://` is with TLS, which needs the cargo feature
    /// `redis-tls`; [`open`](super::open) says which certificates are trusted. `redis+unix:///PATH` is a
    /// socket of this machine. Nothing is written before the first acquire.
    ///
    /// It blocks: see [how long](super#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when the server's certificate is
    /// not trusted, or the server refuses the user, is the wrong node of a cluster,
    /// evicts keys, or has the namespace with other terms or of a newer version.
    /// [`StoreError::Unavailable`] when it does not answer.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&store_url::Server::at(url, Scheme::Redis)?, namespace, None)
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
        let server = store_url::Server::at(url, Scheme::Redis)?;
        Self::at(&server, namespace, Some(clock))
    }

    /// On a server whose user has all rights.
    pub(crate) fn at(
        server: &store_url::Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        let mut redis = Redis::over(server, namespace, clock)?;
        let Redis {
            connection,
            script,
            hash,
            ..
        } = &mut redis;
        connection.run(|open| rights::check(&mut open.redis, script, hash))?;
        Self::opened(redis, namespace.clone())
    }
}

impl Redis {
    /// Nothing is asked yet.
    pub(in crate::lease) fn over(
        server: &store_url::Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::new(server)?,
            script: Script::new(include_str!("write.lua")),
            hash: hash_of(namespace.name()),
            clock,
        })
    }

    /// The names of all namespaces.
    fn names(&mut self) -> Result<Vec<String>, EngineError> {
        let mut names = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(hash_of("*"));
            scan.arg("COUNT").arg(LISTED_AT_ONCE);
            let (next, hashes): (u64, Vec<String>) =
                self.connection.run(|open| scan.query(&mut open.redis))?;
            let name = |hash: &String| {
                let name = hash.strip_prefix("randflake:{")?.strip_suffix('}')?;
                Some(name.to_owned())
            };
            names.extend(hashes.iter().filter_map(name));
            cursor = next;
            if cursor == 0 {
                return Ok(names);
            }
        }
    }

    /// The server's clock, or the one in its place.
    fn now(&self, (seconds, micros): (u64, u32)) -> Result<Duration, EngineError> {
        match &self.clock {
            Some(clock) => read_clock(&**clock),
            None => Ok(Duration::new(seconds, micros.saturating_mul(1_000))),
        }
    }
}

impl Engine for Redis {
    fn place(&self) -> String {
        self.connection.place()
    }

    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError> {
        let keys: Vec<Key> = keys.iter().flat_map(Keys::each).collect();
        let mut asked = redis::pipe();
        asked.cmd("HMGET").arg(&self.hash).arg(PROMOTED);
        for key in &keys {
            asked.arg(name(*key));
        }
        for section in ["replication", "commandstats", "memory"] {
            asked.cmd("INFO").arg(section);
        }
        asked.cmd("TIME").ignore_errors();
        let (texts, server, policy, time) = self.connection.run(|open| {
            let (texts, replication, commands, memory, time): Told =
                asked.query(&mut InTime(&mut open.redis))?;
            // After the texts: what is put back meanwhile is noticed.
            let mut texts = texts?.into_iter();
            let noted = texts.next().flatten();
            let server = Server::told(&open.run_id, &replication?, &commands?, noted)?;
            let policy = field(&memory?, "maxmemory_policy").to_owned();
            Ok((texts.collect::<Vec<_>>(), server, policy, time?))
        })?;
        let there = keys.into_iter().zip(texts);
        let there = there.filter_map(|(key, text)| Some((key, text?)));
        Ok(Reading {
            now: self.now(time)?,
            continuity: Continuity {
                fingerprint: server.fingerprint(),
                fault: fault(&policy),
                ..Continuity::default()
            },
            texts: there.collect(),
        })
    }

    fn write(&mut self, write: &Write) -> Result<Committed, EngineError> {
        let known = Server::of(&write.fingerprint);
        let micros = |time: Duration| time.as_micros().to_string();
        let window = write
            .window
            .map(|(least, most)| (micros(least), micros(most)));
        let (least, most) = window.unwrap_or_default();
        // A lease that goes on unread is nobody else's before its end, whatever else was put back.
        let replacing = write.window.map_or(REPLACING, |_| "");
        let is_lease = |entry: &Entry| matches!(entry.key, Key::Node(_)) && entry.after.is_some();
        let proof = write.entries.iter().position(is_lease);
        let mut script = self.script.key(&self.hash);
        script
            .arg(&known.promoted)
            .arg(replacing)
            .arg(known.replaced);
        script.arg(least).arg(most);
        script.arg(proof.map_or(0, |at| at + 1));
        for Entry { key, before, after } in &write.entries {
            let before = match before {
                Before::Anything => "*",
                Before::Nothing => "",
                Before::Text(text) => text,
            };
            script.arg(name(*key)).arg(before);
            script.arg(after.as_deref().unwrap_or_default());
        }
        let is_noted = |entry: &Entry| {
            matches!(entry.key, Key::Namespace | Key::Counter) && entry.after.is_some()
        };
        if !known.promoted.is_empty() && write.entries.iter().any(is_noted) {
            script.arg(PROMOTED).arg("*").arg(&known.promoted);
        }
        let (answer, is_again) = self.connection.run_noting(|open| {
            if open.run_id != known.run_id {
                return Ok(None);
            }
            match script.invoke::<(bool, (u64, u32))>(&mut open.redis) {
                Ok((is_done, time)) => Ok(is_done.then_some(time)),
                Err(error) if rights::is_unnamed(&error) => {
                    rights::check(&mut open.redis, &self.script, &self.hash)?;
                    Err(error)
                }
                Err(error) => Err(error),
            }
        })?;
        match answer {
            Some(time) => Ok(Committed::Done {
                now: self.now(time)?,
            }),
            None if is_again => Err(EngineError::unavailable(
                "the connection broke during a write: whether it was made is not known",
            )),
            None => Ok(Committed::Stale),
        }
    }

    fn list(&mut self, first: u32, _: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let mut nodes = BTreeMap::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(&self.hash).arg(cursor);
            scan.arg("COUNT").arg(LISTED_AT_ONCE);
            let (next, fields): (u64, Vec<(String, String)>) =
                self.connection.run(|open| scan.query(&mut open.redis))?;
            let node = |(name, text): (String, String)| Some((name.parse().ok()?, text));
            nodes.extend(
                fields
                    .into_iter()
                    .filter_map(node)
                    .filter(|(node_id, _)| *node_id >= first),
            );
            cursor = next;
            if cursor == 0 {
                return Ok(nodes.into_iter().collect());
            }
        }
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let names = match only {
            Some(name) => vec![name.to_owned()],
            None => self.names()?,
        };
        let mut texts = BTreeMap::new();
        for part in names.chunks(LISTED_AT_ONCE as usize) {
            let mut asked = redis::pipe();
            for namespace in part {
                asked
                    .cmd("HMGET")
                    .arg(hash_of(namespace))
                    .arg(name(Key::Namespace));
            }
            let found: Vec<[Option<String>; 1]> =
                self.connection.run(|open| asked.query(&mut open.redis))?;
            let found = part.iter().cloned().zip(found);
            texts.extend(found.filter_map(|(name, [text])| Some((name, text?))));
        }
        Ok(Some(texts))
    }

    fn clear(&mut self, namespace: &str) -> Result<(), EngineError> {
        let script = Script::new(include_str!("clear.lua"));
        let mut call = script.key(&self.hash);
        call.arg(namespace);
        for kept in [name(Key::Namespace), name(Key::Counter), PROMOTED.into()] {
            call.arg(kept);
        }
        self.connection
            .run(|open| call.invoke::<()>(&mut open.redis))
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        diagnosis::findings(&mut self.connection)
    }

    fn has_own_clock(&self) -> bool {
        self.clock.is_none()
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.connection.limit_for(ttl);
    }
}

/// The key of a namespace.
fn hash_of(name: &str) -> String {
    format!("randflake:{{{name}}}")
}

/// A field's.
fn name(key: Key) -> String {
    match key {
        Key::Namespace => "namespace".to_owned(),
        Key::Counter => "counter".to_owned(),
        Key::Node(node_id) => node_id.to_string(),
        Key::Page(page) => format!("page:{page}"),
        Key::Hint(place) => format!("hint:{place}"),
    }
}

/// A namespace has no time to live, so the other policies leave it alone.
fn fault(policy: &str) -> Option<String> {
    policy.starts_with("allkeys").then(|| {
        format!(
            "the Redis server's maxmemory-policy is {policy}, by which it forgets leases when its memory is full: \
             set noeviction, or a policy that begins with volatile-"
        )
    })
}

impl Debug for Redis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("server", &self.connection)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}
