//! The public type `EtcdStore`, and its URLs.

use std::sync::Arc;

use randflake_core::Clock;
use randflake_lease::unstable::url::{AddressKind, CERTIFICATES, Location, Registration, Scheme};
use randflake_lease::{LeaseStore, Namespace, StoreError};

use crate::engine::Etcd;

/// A store of leases and counters in an etcd cluster, 3.4 or newer, shared by the processes of many
/// machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which
/// rights and settings it needs, which losses it notices and which it does not.
///
/// ```no_run
/// use randflake_lease::Namespace;
/// use randflake_etcd::EtcdStore;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = EtcdStore::open("etcd://user:password@etcd-1:2379,etcd-2:2379", &namespace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EtcdStore;

impl EtcdStore {
    /// Opens the store in the cluster of a URL,
    /// `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]`. `etcds://` is with TLS, which needs
    /// the cargo feature `tls`; `lease::open` says which certificates are trusted, and how to name
    /// the client's. The port is 2379 unless given.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::FailedPrecondition`] when a member's
    /// certificate is not trusted, or the cluster refuses the user, or has the namespace with other
    /// terms or of a newer version, or another server answers there. [`StoreError::Unavailable`]
    /// when no member answers.
    pub fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, None)
    }

    /// [`open`](EtcdStore::open) with another clock than the members', for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](EtcdStore::open).
    pub fn open_with_clock(
        url: &str,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        Self::at(&location, namespace, Some(clock))
    }

    pub(crate) fn at(
        location: &Location,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<LeaseStore, StoreError> {
        LeaseStore::opened(Etcd::over(location, namespace, clock)?, namespace.clone())
    }
}

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
