//! Leases and counters on a Redis server.

use std::sync::Arc;

use randflake_core::Clock;

use crate::engine::Redis;
use crate::url::ENGINE;
use randflake_lease::LeaseStore;

use randflake_lease::unstable::url::Location;
use randflake_lease::{Namespace, StoreError};

/// A store of leases and counters on a Redis or Valkey server, 5.0 or newer, shared by the processes of many machines.
///
/// Its constructors return a [`LeaseStore`].
///
/// Each namespace is one key without a time to live, `randflake:{NAME}`: a hash with a field for the namespace's record,
/// its counter, each node id from its first lease on, and up to seventeen hints, most to free
/// node ids. A second key, `randflake:{NAME}:nodes`, has its node ids in their order, for lists. Beside them, `randflake:key:CHECK` names the namespace that took the secret of a check value first: two more
/// round trips, when a namespace takes a secret. A namespace in another database than 0 also claims it in database 0, where
/// all databases of a server meet: of two that bring one secret, under any names, the second is refused as
/// [`StoreError::SecretTaken`]. An acquire is two round trips, a read and a script that writes if nothing of what was read has changed; it is
/// more when nearly all node ids are leased and none was released lately. A renewal is one. The cost does not grow with the
/// number of leases. Times come from the server's clock.
///
/// A call ends within a quarter of the TTL: connecting may take a twelfth, at most 5 s, and each of two tries as much.
/// The addresses of the server's name share the time to connect: each has an equal part of what is left, for its login too,
/// and the one that answered last is asked first.
///
/// # Rights
///
/// From Redis 6 on, a user needs these rights and no others, on all keys of the store, or on those of some namespaces and
/// of the claims of secrets (`~randflake:{orders}* ~randflake:key:*`):
///
/// ```text
/// ACL SETUSER ids on >PASSWORD ~randflake:* +info +time +script|load +evalsha +hmget +hscan +hset +zadd +zrangebyscore
/// ```
///
/// `+select` is needed if the URL names another database than 0. The claim in database 0 needs no more, because a connection
/// begins there; a server or proxy that admits users to some databases only must admit them to 0. `+config|get` lets `randflake doctor` read
/// `appendfsync`. `randflake lease namespaces` needs `+scan`, and `randflake lease drop` needs `+del`.
/// Without `+hdel`, earlier leases are kept for longer than 400 days: up to 65,536 of each node id. If another right is missing, or the
/// server has renamed or disabled one of these commands, the store fails as [`StoreError::FailedPrecondition`] and names it, before anything
/// is written. So it does for a database that the server does not have, and for a Sentinel.
///
/// **Redis Cluster.** A namespace is stored on one node, and the URL must name that node. Redirections are not followed: if
/// another node has the key, there was a failover or a move, and an operator should look first. A wrong node is refused as
/// [`StoreError::FailedPrecondition`], with the address of the right one. Only the claim of a secret is asked of the node that has
/// it, because it is one for the whole cluster; a cluster has database 0 alone, as many managed services do. A replica that takes over is noticed as in the table below.
///
/// # What it notices
///
/// Nothing on the server tells a new namespace from a forgotten one. So before the first lease an operator declares it new,
/// by [`end_quarantine`](randflake_lease::Administration::end_quarantine) (`randflake lease init`), or the namespace waits for a quarantine.
///
/// | what happened                                                        | what it does                           |
/// |----------------------------------------------------------------------|----------------------------------------|
/// | the namespace is missing: new, deleted, flushed, evicted             | quarantine                             |
/// | the server was restarted, or its data restored                       | quarantine; live leases can be renewed |
/// | a replica took over                                                  | quarantine; live leases can be renewed |
/// | a master was made a replica and a master again                       | quarantine; live leases can be renewed |
/// | keys were put back: `RESTORE`, `COPY`, `MOVE`, `SWAPDB`, `DEBUG`     | quarantine; live leases can be renewed |
/// | a node id's field was deleted while it is held                       | quarantine, once its holder renews     |
/// | it evicts keys without a time to live (`maxmemory-policy allkeys-*`) | refused until that is changed          |
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s; if the namespace's record is missing, at least
/// 320 s. A lease that the server still knows can be renewed meanwhile.
///
/// Each read and each write asks which server process answers, so a proxy may keep its clients' connections while the server
/// behind it is another one.
///
/// The server counts how often any program restored, copied or swapped keys, in all databases, and how often it was told
/// whom to follow. So such a command for another program's keys also starts a quarantine, and so does `CONFIG RESETSTAT` after one. If such commands are frequent,
/// use a server of its own for leases.
///
/// Without `appendonly`, or with another `appendfsync` than `always`, a crash loses leases. That is noticed as a restart.
///
/// A counter is one more field. A counter that may have gone back cannot be repaired by waiting, and
/// nothing tells a new server from one that has forgotten everything. So an operator begins each counter, with
/// [`Counter::create`](randflake_lease::Counter::create) (`randflake segment init`) or
/// [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`). After each restart and failover of the server, and when keys may have been put back,
/// it fails as [`CounterError::Lost`](randflake_lease::CounterError::Lost) until an operator resumes it.
///
/// # What it cannot notice
///
/// - Two masters reachable at once, as in a split network: both grant. `min-replicas-to-write` narrows that.
/// - One secret on two servers, among them what a managed service calls databases of one; and a copy of the server's data that
///   is started elsewhere: its new process id looks like a restart, so it is quarantined once and then grants, beside its
///   original. A flush of database 0 (`FLUSHDB`) forgets the claims of the other databases there.
/// - Single fields of the namespace's key written or deleted by somebody else (`HSET`, `HDEL`), until their holder renews:
///   until then the node id may be granted again.
/// - A master of a Redis Cluster that was demoted without a command, took over older data, was promoted again, and had no
///   replica for `repl-backlog-ttl` (an hour unless set) before anybody asked it.
/// - Keys put back by other commands than those above, such as `RENAME`, or before the server's statistics were reset
///   (`CONFIG RESETSTAT`).
/// ```no_run
/// use randflake_lease::Namespace;
/// use randflake_redis::RedisStore;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = RedisStore::open("redis://:password@redis.example:6379/0", &namespace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RedisStore;

impl RedisStore {
    /// Opens the store on the server of a URL, `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`.
    /// `rediss://` is with TLS, which needs the cargo feature
    /// `tls`; `lease::open` says which certificates are trusted. `redis+unix:///PATH` is a
    /// socket of this machine. Nothing is written before the first acquire.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::FailedPrecondition`] when the server's certificate is
    /// not trusted, or the server refuses the user, is the wrong node of a cluster, a Sentinel or another kind of server, lacks a
    /// command or the database, evicts keys, or has the namespace with other terms or of a newer version.
    /// [`StoreError::Unavailable`] when it does not answer.
    pub fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, None)
    }

    /// [`open`](RedisStore::open) with another clock than the server's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](RedisStore::open).
    pub fn open_with_clock(
        url: &str,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, Some(clock))
    }

    /// Opens the store after a check that the server's user has all rights.
    pub(crate) fn at(
        location: &Location,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<LeaseStore, StoreError> {
        let mut redis = Redis::over(location, namespace, clock)?;
        let Redis {
            connection,
            hash,
            index,
            ..
        } = &mut redis;
        // A right that is missing is named now, before anything is written.
        connection.run(|open| crate::rights::check(open, hash, index))?;
        LeaseStore::opened(redis, namespace.clone())
    }
}
