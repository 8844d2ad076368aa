//! Leases and counters in an etcd cluster.

#[cfg(feature = "etcd")]
mod store;

#[cfg(feature = "etcd")]
pub use self::store::EtcdStore;
use super::{Opening, Registration};
use crate::store::url::{AddressKind, CERTIFICATES, Location, Scheme};
use crate::vocabulary::StoreError;

pub(in crate::store) static ENGINE: Registration = Registration {
    name: "etcd",
    feature: "etcd",
    short_form: "etcd://HOST",
    schemes: &[
        ETCD,
        Scheme {
            name: "etcds",
            is_encrypted: true,
            ..ETCD
        },
    ],
    has_counters: true,
    check,
    opening: OPENING,
};

#[cfg(feature = "etcd")]
const OPENING: Option<Opening> = Some(store::OPENING);
#[cfg(not(feature = "etcd"))]
const OPENING: Option<Opening> = None;

const ETCD: Scheme = Scheme {
    name: "etcd",
    is_encrypted: false,
    encrypts_by: "etcds://",
    place: AddressKind::Hosts { port: 2_379 },
    options: CERTIFICATES,
    form: "etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...], or etcds:// for encrypted connections",
};

fn check(location: &Location) -> Result<(), StoreError> {
    if location.user.is_some() != location.password.is_some() {
        return Err(location.refused("has a user without a password, or a password alone"));
    }
    if location.database.is_some() {
        return Err(location.refused("has a path: this store takes none"));
    }
    Ok(())
}
