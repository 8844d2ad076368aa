//! Leases and counters on a Redis or Valkey server.

use crate::engine::Redis;
use crate::store::RedisStore;
use randflake_lease::StoreError;
use randflake_lease::unstable::url::{AddressKind, CERTIFICATES, Location, Registration, Scheme};

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
