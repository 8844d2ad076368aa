//! A store that is opened when it is first used.

use core::fmt::{self, Debug, Formatter};
use core::ops::RangeInclusive;
use core::time::Duration;

use super::LeaseStore;
use crate::vocabulary::{
    AcquireRequest, Acquired, Device, DeviceError, DeviceRequest, Explained, Finding, Grant,
    History, Namespace, PresentedGrant, PresentedRenewal, Quarantine, Record, Renewed, RequestId,
    StoreError, Upgrade,
};
use crate::vocabulary::{KeyCheck, Loss};

/// A store that is opened when it is first used, and after a failure by the next use.
///
/// To open a store is to call it, and fails when its server does not answer. Deferred, this is part of the first acquire: so
/// [`Builder::wait`](crate::Builder::wait) waits for a server that cannot be reached yet, and `Builder::build_async`
/// connects in the thread that it builds in.
///
/// The store must be of the same namespace, or every use is refused as [`StoreError::Invalid`].
///
/// ```
/// use randflake_std::lease::{self, Namespace};
/// use randflake_std::{Handle, Randflake, Secret};
/// use std::time::Duration;
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let url = std::env::var("RANDFLAKE_STORE")?;
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = lease::deferred(&namespace, move |namespace| lease::open(&url, namespace));
/// let ids = Handle::builder(&Secret::from_env("RANDFLAKE_SECRET")?, store)
///     .wait(Duration::from_secs(60))
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub fn deferred<S, F>(namespace: &Namespace, open: F) -> impl LeaseStore + use<S, F>
where
    S: LeaseStore,
    F: FnMut(&Namespace) -> Result<S, StoreError> + Send,
{
    Deferred {
        namespace: namespace.clone(),
        open,
        seal: None,
        serves_others: false,
        within: None,
        store: None,
    }
}

struct Deferred<S, F> {
    namespace: Namespace,
    open: F,
    /// What the store is to be told.
    seal: Option<KeyCheck>,
    serves_others: bool,
    within: Option<RangeInclusive<u32>>,
    store: Option<S>,
}

impl<S, F> Deferred<S, F>
where
    S: LeaseStore,
    F: FnMut(&Namespace) -> Result<S, StoreError>,
{
    fn store(&mut self) -> Result<&mut S, StoreError> {
        let store = match self.store.take() {
            Some(store) => store,
            None => self.opened()?,
        };
        Ok(self.store.insert(store))
    }

    fn opened(&mut self) -> Result<S, StoreError> {
        let mut store = (self.open)(&self.namespace)?;
        if *store.namespace() != self.namespace {
            return Err(StoreError::Invalid(format!(
                "the store was opened for namespace {:?}, or other terms, and {:?} was asked for",
                store.namespace().name(),
                self.namespace.name()
            )));
        }
        if let Some(seal) = self.seal {
            store.seal(seal);
        }
        if self.serves_others {
            store.act_as_proxy();
        }
        if let Some(within) = &self.within {
            store.lease_within(within.clone());
        }
        Ok(store)
    }
}

impl<S, F> LeaseStore for Deferred<S, F>
where
    S: LeaseStore,
    F: FnMut(&Namespace) -> Result<S, StoreError> + Send,
{
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn seal(&mut self, seal: KeyCheck) {
        self.seal = Some(seal);
        if let Some(store) = &mut self.store {
            store.seal(seal);
        }
    }

    fn act_as_proxy(&mut self) {
        self.serves_others = true;
        if let Some(store) = &mut self.store {
            store.act_as_proxy();
        }
    }

    fn is_on_server(&self) -> bool {
        self.store.as_ref().is_some_and(LeaseStore::is_on_server)
    }

    fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.within = Some(node_ids.clone());
        if let Some(store) = &mut self.store {
            store.lease_within(node_ids);
        }
    }

    fn has_disconnected(&mut self) -> bool {
        self.store.as_mut().is_some_and(S::has_disconnected)
    }

    fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        self.store()?.still_has(grants)
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.store()?.acquire(request)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.store()?.renew(grants, ttl)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.store()?.release(grants)
    }

    fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError> {
        self.store()?.renew_presented(grants, ttl, request)
    }

    fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        self.store()?.release_presented(grants, request)
    }

    fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        self.store()?.list_from(first, most)
    }

    fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        self.store()?.history(node_ids)
    }

    fn device(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        self.store()?.device(device_id, request)
    }

    fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        self.store()?.explain(node_id, tick)
    }

    fn live_at(&mut self, unix: Duration) -> Result<Option<u64>, StoreError> {
        self.store()?.live_at(unix)
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        self.store()?.quarantine()
    }

    fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store()?.create_namespace()
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        self.store()?.end_quarantine()
    }

    fn override_quarantine(&mut self) -> Result<(), StoreError> {
        self.store()?.override_quarantine()
    }

    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store()?.quarantined()
    }

    fn drop_namespace(&mut self) -> Result<(), StoreError> {
        self.store()?.drop_namespace()
    }

    fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store()?.reopen_namespace()
    }

    fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        self.store()?.upgrade_namespace(force)
    }

    fn version(&mut self) -> Result<u8, StoreError> {
        self.store()?.version()
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        self.store()?.now()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.store()?.diagnose()
    }
}

impl<S: Debug, F> Debug for Deferred<S, F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred")
            .field("namespace", &self.namespace)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
