//! URLs of etcd.

use crate::engine::Etcd;
use crate::store::EtcdStore;
use randflake_lease::StoreError;
use randflake_lease::unstable::url::{AddressKind, CERTIFICATES, Location, Registration, Scheme};

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "etcd",
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
    open: |location, namespace| EtcdStore::at(location, namespace, None),
    open_existing: |location, namespace| Ok(Some(Box::new(Etcd::over(location, namespace, None)?))),
};

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
