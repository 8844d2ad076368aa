//! A store that notes, for each node id, whether the handle has it.

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Sparx64;
use randflake_std::lease::{
    AcquireRequest, Acquired, Device, DeviceError, DeviceRequest, Finding, Grant, History,
    LeaseStore, Loss, Namespace, PresentedGrant, PresentedRenewal, Quarantine, Record, Renewed,
    RequestId, StoreError, Upgrade,
};
use randflake_std::{Handle, Id};

use crate::elastic::{Few, NODE_IDS, Store};

/// What one handle had.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Counts each grant and each release of a node id, before the handle knows of the one and after it has begun the
    /// other: even when the handle does not have it.
    changes: [AtomicU64; NODE_IDS as usize],
    /// How often a node id was released that the handle had.
    pub(crate) released: AtomicU64,
    pub(crate) acquires: AtomicU64,
}

impl Watch {
    fn changes(&self) -> [u64; NODE_IDS as usize] {
        self.changes
            .each_ref()
            .map(|count| count.load(Ordering::SeqCst))
    }

    /// The next id, which must be of a node id that the handle had at some time during the call.
    pub(crate) fn generate(
        &self,
        ids: &Handle<Few, Sparx64>,
    ) -> Result<Id, randflake_std::GenerateError> {
        let before = self.changes();
        let id = ids.generate()?;
        let after = self.changes();
        let node_id = ids.inspect(id).node_id as usize;
        let was_given_back = before[node_id].is_multiple_of(2) && before[node_id] == after[node_id];
        assert!(
            !was_given_back,
            "an id of node id {node_id}, which was given back"
        );
        Ok(id)
    }
}

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) store: Store,
    pub(crate) watch: Arc<Watch>,
}

impl LeaseStore for Watched {
    fn namespace(&self) -> &Namespace {
        self.store.namespace()
    }

    fn seal(&mut self, seal: randflake_std::lease::KeyCheck) {
        self.store.seal(seal);
    }

    fn act_as_proxy(&mut self) {
        self.store.act_as_proxy();
    }

    fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.store.lease_within(node_ids);
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.watch.acquires.fetch_add(1, Ordering::SeqCst);
        let acquired = self.store.acquire(request)?;
        for grant in &acquired.grants {
            let former = self.watch.changes[grant.node_id as usize].fetch_add(1, Ordering::SeqCst);
            assert_eq!(former % 2, 0, "granted twice");
        }
        Ok(acquired)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        let renewed = self.store.renew(grants, ttl)?;
        let lost = grants
            .iter()
            .zip(&renewed.ends)
            .filter(|(_, end)| end.is_err());
        for (grant, _) in lost {
            self.watch.changes[grant.node_id as usize].fetch_add(1, Ordering::SeqCst);
        }
        Ok(renewed)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        for grant in grants {
            self.watch.changes[grant.node_id as usize].fetch_add(1, Ordering::SeqCst);
            self.watch.released.fetch_add(1, Ordering::SeqCst);
        }
        self.store.release(grants)
    }

    fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError> {
        self.store.renew_presented(grants, ttl, request)
    }

    fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        self.store.release_presented(grants, request)
    }

    fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        self.store.list_from(first, most)
    }

    fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        self.store.history(node_ids)
    }

    fn device(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        self.store.device(device_id, request)
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        self.store.quarantine()
    }

    fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.create_namespace()
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        self.store.end_quarantine()
    }

    fn override_quarantine(&mut self) -> Result<(), StoreError> {
        self.store.override_quarantine()
    }

    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.quarantined()
    }

    fn drop_namespace(&mut self) -> Result<(), StoreError> {
        self.store.drop_namespace()
    }

    fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        self.store.upgrade_namespace(force)
    }

    fn version(&mut self) -> Result<u8, StoreError> {
        self.store.version()
    }

    fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.reopen_namespace()
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        self.store.now()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.store.diagnose()
    }
}
