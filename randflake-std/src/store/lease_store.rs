//! The contract of a lease store.

use core::fmt::Debug;
use core::ops::RangeInclusive;
use core::time::Duration;

use super::Engine;
use crate::vocabulary::{
    AcquireRequest, Acquired, Device, DeviceError, DeviceRequest, Explained, Finding, Grant,
    History, Namespace, PresentedGrant, PresentedRenewal, Quarantine, Record, Renewed, RequestId,
    StoreError, Upgrade,
};
use crate::vocabulary::{KeyCheck, Loss};

/// The leases of one namespace, as a handle asks for them.
///
/// Every store is a [`Ledger`](crate::store::Ledger) over an engine; the rules are in [`rules`](crate::rules), and
/// what an engine must do is the contract of [`Engine`](crate::store::Engine). Use this trait where the engine does
/// not matter.
///
/// It is synchronous: one thread of a process, its keeper, calls it. Every method but the first three blocks while the
/// engine works; its time limit is well below the TTL: see [how long calls block](crate::lease#how-long-calls-block).
pub trait LeaseStore: Send + Debug {
    /// The namespace that this store was opened for.
    fn namespace(&self) -> &Namespace;

    /// Sets whether ids are plain, or under which key. An acquire is refused if the namespace has others.
    fn seal(&mut self, seal: KeyCheck);

    /// From now on it acts for holders elsewhere, of whose leases it knows what they tell: as a server does. It remembers
    /// no lease, since each may be renewed and released through another server in between; and none that the store does not
    /// know is proof that the store has forgotten it.
    fn act_as_proxy(&mut self);

    /// Whether it is on a server, which may be restarted while this process goes on. Known once the store was opened.
    fn is_on_server(&self) -> bool {
        false
    }

    /// From now on it is granted only these node ids. Renewals and releases are as before. A server keeps some node ids from
    /// its clients in this way; processes that do not do so may be granted any.
    fn lease_within(&mut self, node_ids: RangeInclusive<u32>);

    /// Whether the connection to the server has broken since it was last used or asked, as far as is known without a round
    /// trip. The clients of MySQL and etcd do not tell.
    fn has_disconnected(&mut self) -> bool {
        false
    }

    /// Whether the store still has these leases: by one read, where the store can. Nothing is written.
    ///
    /// # Errors
    ///
    /// As for `renew`.
    fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        let records = self.list()?;
        let is_there = |grant: &Grant| {
            let key = (grant.node_id, grant.token);
            let mut records = records.iter().map(|record| &record.grant);
            records.any(|there| (there.node_id, there.token) == key)
        };
        Ok(grants.iter().all(is_there))
    }

    /// Grants all that the request asks for at once, or nothing.
    ///
    /// After [`StoreError::Unavailable`] the outcome is unknown. The operation is idempotent: the same request,
    /// repeated here, gets what the lost one was granted.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError>;

    /// Moves the end of each grant to `ttl` ticks from now, never back.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the TTL is over the namespace's longest, [`StoreError::ClockSkew`] when the
    /// store's clock has leapt since its last answer, and [`StoreError::Unavailable`]; the same renewal may be
    /// made again.
    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError>;

    /// Ends each grant at its `end`, which the caller has set to the first unused tick. Grants that are no longer held
    /// stay as they are.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; the same release may be made again.
    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError>;

    /// Renews grants whose holder is elsewhere, as [`renew`](Self::renew) does: a server calls it for its clients.
    ///
    /// Each grant comes with what its last write gave. The holder that made the record's last write goes on; a copy of it,
    /// which presents an older one, gets [`Loss::Contested`]. The same request, repeated here or through another store of
    /// the namespace, gets the same answer.
    ///
    /// # Errors
    ///
    /// As for `renew`; and [`StoreError::Invalid`] when the request made the last write of one of the grants.
    fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError>;

    /// Ends grants whose holder is elsewhere, as [`release`](Self::release) does. Returns for each, in the order given, why
    /// nothing was released: a copy of the holder gets [`Loss::Contested`], and the lease stays as it is.
    ///
    /// # Errors
    ///
    /// As for `release`; and [`StoreError::Invalid`] when the request made the last write of one of the grants.
    fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError>;

    /// Returns every record in order of node ids, including leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        self.list_from(0, usize::MAX)
    }

    /// Returns the first `most` records from a node id on, in order of node ids, including leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError>;

    /// Returns the leases of some node ids, also earlier ones: who held which, and when. A lease is kept for 400 days after
    /// its end, and at most the last 65,536 of a node id. [`StaticStore`](crate::lease::StaticStore) keeps only the last one.
    ///
    /// An acquire of a node id that was leased before writes the earlier lease to the history, in the same transaction;
    /// renewals and releases do not touch it. Each lease has the hash of the one before it, so [`History`] reports a lease
    /// that was changed or removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], and [`StoreError::Terms`] when the namespace has another layout or secret.
    fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError>;

    /// Reads or writes the record of a device that gets its leases by tickets: whose it is, and the counter of its last
    /// ticket. Returns it as it is now.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; after [`StoreError::Unavailable`] the counter may have been taken: take the next one.
    fn device(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError>;

    /// Returns who held a node id at a tick of the layout. Reads a few records however long the history is: of 65,536
    /// leases 64, in four reads.
    ///
    /// Of the hashes it checks that of the lease it finds, and those of the others it reads;
    /// [`history`](Self::history) checks all. `Nobody` is said only where the leases before and after the tick are there,
    /// or where none was before.
    ///
    /// # Errors
    ///
    /// As for [`history`](Self::history).
    fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        let history = self.history(node_id..=node_id)?;
        Ok(Explained {
            explanation: history.explain(node_id, tick),
            gap: history.gaps().first().copied(),
            now: history.now(),
        })
    }

    /// Returns how many node ids were leased at a time, as time since the Unix epoch; none if the history does not reach
    /// back so far. Reads a few records of each node id, as [`explain`](Self::explain).
    ///
    /// # Errors
    ///
    /// As for [`history`](Self::history).
    fn live_at(&mut self, unix: Duration) -> Result<Option<u64>, StoreError> {
        Ok(self.history(0..=u32::MAX)?.live_at(unix))
    }

    /// Creates the namespace if it is not there, by this store's terms, without a lease. Returns the quarantine that it is in:
    /// on a server a namespace that is not there may have been lost.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](LeaseStore::acquire).
    fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError>;

    /// Starts a quarantine: grants nothing until every lease granted so far has expired, including any that the store
    /// does not know. Returns how long that takes. For an operator who has restored a backup in a way that the store
    /// cannot detect.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Invalid`] if the namespace is not there.
    fn quarantine(&mut self) -> Result<Duration, StoreError>;

    /// Declares that the namespace is new, so that it grants at once: creates it if it is not there, and ends its
    /// quarantine. For an operator, or a test, who knows that no lease was ever granted in it. Does nothing if there is no
    /// quarantine.
    ///
    /// One conditional write: it takes place only if the quarantine's cause is [`QuarantineCause::New`](crate::lease::QuarantineCause::New),
    /// no node id was leased, and no other process has made the namespace anew or moved its quarantine since this store
    /// has seen it first. A holder of a lease from before the store lost its memory does that when it renews: so who is not
    /// sure calls [`create_namespace`](LeaseStore::create_namespace) first, and this after a third of the longest TTL and
    /// some seconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotNew`], and as for [`acquire`](LeaseStore::acquire).
    fn end_quarantine(&mut self) -> Result<(), StoreError>;

    /// Ends a quarantine whatever it is for, as one that was set by a wrong clock. Whoever ends one too early lets ids
    /// repeat: no process may hold a lease that the store has forgotten.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Dropped`].
    fn override_quarantine(&mut self) -> Result<(), StoreError>;

    /// The quarantine, if the namespace is in one. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError>;

    /// Removes the namespace's leases and terms; its counter stays. From then on every acquire is refused as
    /// [`StoreError::Dropped`] until a person opens it again: [`reopen_namespace`](LeaseStore::reopen_namespace). Does nothing
    /// where the namespace is not there.
    ///
    /// Live leases are removed too: their holders go on until these leases end, and cannot renew them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    fn drop_namespace(&mut self) -> Result<(), StoreError>;

    /// Opens a namespace again that was dropped, by this store's terms, which may be other ones than before. Returns the
    /// quarantine in which it waits until every lease from before has expired, unless they have.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it was not dropped; [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError>;

    /// Lets records of this namespace be written in the highest version that this program knows, which older programs
    /// cannot read. Needed once after an update that says so: until then both work side by side.
    ///
    /// Refused as [`Upgrade::OlderHolders`] while a holder lives that does not know the version, unless `force` is set. An
    /// older program that meets an upgraded namespace writes nothing, issues until its lease ends, and says why.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when there is no such namespace, [`StoreError::Dropped`], and those of the engine.
    fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError>;

    /// Returns the version that records of this namespace may be written in.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    fn version(&mut self) -> Result<u8, StoreError>;

    /// What tests of fleets of two versions look behind: the engine, and the version that this client knows. `None` from a
    /// store that has not been opened yet.
    #[doc(hidden)]
    fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        None
    }

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn now(&mut self) -> Result<Duration, StoreError>;

    /// Checks the store and its settings, for `randflake doctor` and similar tools: see [`Finding`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]. A wrong setting is a finding, not an error.
    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError>;
}

impl<S: LeaseStore + ?Sized> LeaseStore for Box<S> {
    fn namespace(&self) -> &Namespace {
        (**self).namespace()
    }

    fn seal(&mut self, seal: KeyCheck) {
        (**self).seal(seal);
    }

    fn act_as_proxy(&mut self) {
        (**self).act_as_proxy();
    }

    fn is_on_server(&self) -> bool {
        (**self).is_on_server()
    }

    fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        (**self).lease_within(node_ids);
    }

    fn has_disconnected(&mut self) -> bool {
        (**self).has_disconnected()
    }

    fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        (**self).still_has(grants)
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        (**self).acquire(request)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        (**self).renew(grants, ttl)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        (**self).release(grants)
    }

    fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError> {
        (**self).renew_presented(grants, ttl, request)
    }

    fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        (**self).release_presented(grants, request)
    }

    fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        (**self).list_from(first, most)
    }

    fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        (**self).history(node_ids)
    }

    fn device(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        (**self).device(device_id, request)
    }

    fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        (**self).explain(node_id, tick)
    }

    fn live_at(&mut self, unix: Duration) -> Result<Option<u64>, StoreError> {
        (**self).live_at(unix)
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        (**self).quarantine()
    }

    fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        (**self).create_namespace()
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        (**self).end_quarantine()
    }

    fn override_quarantine(&mut self) -> Result<(), StoreError> {
        (**self).override_quarantine()
    }

    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        (**self).quarantined()
    }

    fn drop_namespace(&mut self) -> Result<(), StoreError> {
        (**self).drop_namespace()
    }

    fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        (**self).reopen_namespace()
    }

    fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        (**self).upgrade_namespace(force)
    }

    fn version(&mut self) -> Result<u8, StoreError> {
        (**self).version()
    }

    fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        (**self).internals()
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        (**self).now()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        (**self).diagnose()
    }
}
