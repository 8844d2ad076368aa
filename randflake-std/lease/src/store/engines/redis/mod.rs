//! Leases and counters on a Redis or Valkey server.

#[cfg(feature = "redis")]
mod store;

#[cfg(feature = "redis")]
pub use self::store::RedisStore;
use super::{Opening, Registration};
use crate::store::url::{AddressKind, CERTIFICATES, Location, Scheme};
use crate::vocabulary::StoreError;

pub(in crate::store) static ENGINE: Registration = Registration {
    name: "Redis",
    feature: "redis",
    short_form: "redis://HOST",
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
    opening: OPENING,
};

#[cfg(feature = "redis")]
const OPENING: Option<Opening> = Some(store::OPENING);
#[cfg(not(feature = "redis"))]
const OPENING: Option<Opening> = None;

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
