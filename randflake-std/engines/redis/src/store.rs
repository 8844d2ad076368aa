//! The public type `RedisStore`, and its URLs.

use std::sync::Arc;

use randflake_core::Clock;
use randflake_lease::unstable::url::{AddressKind, CERTIFICATES, Location, Registration, Scheme};
use randflake_lease::{LeaseStore, Namespace, StoreError};

use crate::engine::{Redis, check_rights};

/// A store of leases and counters on a Redis or Valkey server, 5.0 or newer, shared by the
/// processes of many machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which
/// rights and settings it needs, which losses it notices and which it does not.
///
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
    /// [`StoreError::Invalid`] for another URL. [`StoreError::FailedPrecondition`] when the
    /// server's certificate is not trusted, or the server refuses the user, is the wrong node of a
    /// cluster, a Sentinel or another kind of server, lacks a command or the database, evicts keys,
    /// or has the namespace with other terms or of a newer version. [`StoreError::Unavailable`]
    /// when it does not answer.
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
        connection.run(|open| check_rights(open, hash, index))?;
        LeaseStore::opened(redis, namespace.clone())
    }
}

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "Redis",
    schemes: &[
        REDIS,
        Scheme {
            name: "rediss",
            is_encrypted: true,
            ..REDIS
        },
        Scheme {
            name: "redis+unix",
            place: AddressKind::Socket,
            options: &["db"],
            form: "redis+unix://[[USER]:PASSWORD@]/PATH[?db=NUMBER]",
            ..REDIS
        },
    ],
    has_counters: true,
    check,
    open: |location, namespace| RedisStore::at(location, namespace, None),
    open_existing: |location, namespace| {
        Ok(Some(Box::new(Redis::over(location, namespace, None)?)))
    },
};

const REDIS: Scheme = Scheme {
    name: "redis",
    is_encrypted: false,
    encrypts_by: "rediss://",
    place: AddressKind::Host { port: 6_379 },
    options: CERTIFICATES,
    form: "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER], or rediss:// for encrypted connections",
};

fn check(location: &Location) -> Result<(), StoreError> {
    // A password alone is that of the user `default`.
    if location.user.is_some() && location.password.is_none() {
        return Err(location.refused("has a user without a password"));
    }
    Ok(())
}
