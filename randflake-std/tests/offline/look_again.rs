//! Holders whose connections break look at their store before the next renewal, once, and never in a storm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_std::lease::{
    AcquireRequest, Acquired, Device, DeviceError, DeviceRequest, Finding, Grant, History,
    KeyCheck, LeaseStore, Loss, MemoryStore, Namespace, PresentedGrant, PresentedRenewal,
    Quarantine, Record, Renewed, RequestId, StoreError, Upgrade,
};
use randflake_std::{Builder, ExactSystemClock, Plain, Randflake};

const HOLDERS: u64 = 1_000;
const TTL: Duration = Duration::from_secs(24);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What holders have done.
#[derive(Debug, Default)]
struct Watch {
    /// Looks at connections: these are what the keepers are woken for.
    checks: AtomicU64,
    /// Looks at the store.
    looks: AtomicU64,
    renewals: AtomicU64,
    /// Renewals of leases that a look did not find.
    renewals_of_missing: AtomicU64,
}

/// A store on a server that closes every connection that is idle.
#[derive(Debug)]
struct Closing {
    store: MemoryStore,
    watch: Arc<Watch>,
    is_missing: bool,
}

impl LeaseStore for Closing {
    fn namespace(&self) -> &Namespace {
        self.store.namespace()
    }

    fn seal(&mut self, seal: KeyCheck) {
        self.store.seal(seal);
    }

    fn act_as_proxy(&mut self) {
        self.store.act_as_proxy();
    }

    fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.store.lease_within(node_ids);
    }

    fn is_on_server(&self) -> bool {
        true
    }

    fn has_disconnected(&mut self) -> bool {
        self.watch.checks.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        self.watch.looks.fetch_add(1, Ordering::SeqCst);
        let still_has = self.store.still_has(grants)?;
        self.is_missing = !still_has;
        Ok(still_has)
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.store.acquire(request)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.watch.renewals.fetch_add(1, Ordering::SeqCst);
        let of_missing = u64::from(self.is_missing);
        self.watch
            .renewals_of_missing
            .fetch_add(of_missing, Ordering::SeqCst);
        self.store.renew(grants, ttl)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
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

/// A store in memory, its watch, and what opens it again for a holder.
fn server() -> (MemoryStore, Arc<Watch>) {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    (store, Arc::default())
}

fn holder(store: &MemoryStore, watch: &Arc<Watch>) -> randflake_std::Handle<Randflake, Plain> {
    let store = Closing {
        store: store.clone(),
        watch: Arc::clone(watch),
        is_missing: false,
    };
    Builder::new(Randflake, Plain, store)
        .ttl(TTL)
        .build()
        .unwrap()
}

/// How often something happens at most, if it does so many times in a TTL.
fn most(elapsed: Duration, times_per_ttl: u32) -> u64 {
    let times = elapsed.as_millis() / (TTL / times_per_ttl).as_millis();
    HOLDERS * (u64::try_from(times).unwrap() + 2)
}

#[test]
fn a_thousand_holders_do_not_storm_a_server_that_closes_idle_connections() {
    let (store, watch) = server();
    let begin = Instant::now();
    let holders: Vec<_> = (0..HOLDERS).map(|_| holder(&store, &watch)).collect();
    while watch.looks.load(Ordering::SeqCst) < 2 * HOLDERS {
        assert!(begin.elapsed() < PATIENCE, "{watch:?}");
        thread::sleep(Duration::from_millis(50));
    }
    let (looks, checks) = (&watch.looks, &watch.checks);
    let counts = [looks, checks].map(|count| count.load(Ordering::SeqCst));
    let elapsed = begin.elapsed();
    assert!(counts[0] <= most(elapsed, 6), "{watch:?} in {elapsed:?}");
    assert!(counts[1] <= most(elapsed, 20), "{watch:?} in {elapsed:?}");
    assert_eq!(watch.renewals_of_missing.load(Ordering::SeqCst), 0);
    drop(holders);
}

#[test]
fn whoever_finds_its_lease_gone_learns_it_before_the_next_renewal() {
    let (store, watch) = server();
    let holders: Vec<_> = (0..8).map(|_| holder(&store, &watch)).collect();
    store.forget();
    let begin = Instant::now();
    while holders
        .iter()
        .any(|holder| holder.lease().losses.forgotten == 0)
    {
        assert!(begin.elapsed() < PATIENCE, "{watch:?}");
        thread::sleep(Duration::from_millis(20));
    }
    // Not those that were due.
    let of_missing = watch.renewals_of_missing.load(Ordering::SeqCst);
    assert_eq!((of_missing, watch.renewals.load(Ordering::SeqCst)), (8, 8));
    assert!(holders.iter().all(|holder| holder.generate().is_err()));
}
