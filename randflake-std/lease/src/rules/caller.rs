//! The caller of a rule: its terms and clock, and what its process has observed.

use core::time::Duration;
use std::collections::BTreeMap;

use super::{CurrentLease, NamespaceRecord, Node, NodeChange, NodeRecord};
use crate::types::holder::DEVICE;
use crate::types::{Grant, MAX_SKEW, StoreError, Terms};

/// The client of an operation: its terms, what it has observed, and its fresh random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Terms that the client expects of the namespace.
    pub terms: &'a Terms,
    /// What this process has observed of the namespace.
    pub seen: &'a Observed,
    /// Interval in which the store clock must be; none in simulations.
    pub clock: Option<ClockWindow>,
    /// Two numbers that nobody else has, not even a copy of this process: for the namespace nonce
    /// of a record, and for the nonce of a write.
    pub fresh: (u64, u64),
    /// The highest version of records that they know.
    pub capabilities: u8,
}

/// Deviation of a store clock between two answers that does not count as a leap: what a slewed
/// clock, and two clocks that drift, do between two renewals.
const LEAP: Duration = Duration::from_secs(1);
/// A monotonic clock gains or loses at most this part of what it counts: 500 ppm, ten times what a
/// quartz does, and the most by which Linux corrects its own.
const DRIFT_PART: u32 = 2_000;

/// Interval in which the clock of a store must be.
#[derive(Clone, Copy, Debug)]
pub struct ClockWindow {
    /// Earliest time that is allowed.
    pub least: Duration,
    /// Latest time that is allowed.
    pub most: Duration,
}

impl ClockWindow {
    /// Window by the clock of this machine, read before and after the request, in either order:
    /// however long the request took, the store clock was read in between.
    #[must_use]
    pub fn of_machine(before: Duration, after: Duration) -> Self {
        Self {
            least: before.min(after).saturating_sub(MAX_SKEW),
            most: before.max(after).saturating_add(MAX_SKEW),
        }
    }

    /// Window by the clock of this machine as it was read an `age` ago, carried on by a monotonic
    /// clock to before and after the request. It narrows by what that clock may have drifted;
    /// `None` if the skew is used up, so that the machine's clock has to be read again.
    #[must_use]
    pub fn of_machine_carried(before: Duration, after: Duration, age: Duration) -> Option<Self> {
        let skew = MAX_SKEW.checked_sub(age / DRIFT_PART)?;
        (!skew.is_zero()).then(|| Self {
            least: before.min(after).saturating_sub(skew),
            most: before.max(after).saturating_add(skew),
        })
    }

    /// Window by the last answer of the store, carried on by a monotonic clock to before and after
    /// the read.
    #[must_use]
    pub fn of_store(before: Duration, after: Duration) -> Self {
        Self {
            least: before.saturating_sub(LEAP),
            most: after + LEAP,
        }
    }

    /// Window in which the store's clock must be when a renewal is written that was decided by an
    /// estimate of it, without a read; `None` if the estimate is not `near` the machine's clock, so
    /// that the two have to be compared first.
    #[must_use]
    pub fn of_blind_renewal(estimate: Duration, near: &Self) -> Option<Self> {
        near.allows(estimate).then(|| Self {
            least: estimate.saturating_sub(LEAP).max(near.least),
            // Later than expected by a leap more than earlier: the request is on its way for a
            // time, too.
            most: (estimate + 2 * LEAP).min(near.most),
        })
    }

    /// Whether a time of the store is within the window.
    pub(crate) fn allows(&self, store: Duration) -> bool {
        (self.least..=self.most).contains(&store)
    }

    /// Refuses a store clock outside the window: one that is ahead would grant far into the future,
    /// one that is behind would end a quarantine too early.
    pub(super) fn check(&self, store: Duration) -> Result<(), StoreError> {
        if !self.allows(store) {
            let middle = (self.least + self.most) / 2;
            return Err(StoreError::ClockSkew {
                store,
                here: middle,
            });
        }
        Ok(())
    }
}

/// What a process has observed of a namespace, and written there.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Record of the namespace as last seen, and the store's clock then.
    namespace: Option<(NamespaceRecord, Duration)>,
    /// Whether this process ever had a lease.
    has_leased: bool,
    /// Last write of this process to each node id that it leased, also a release.
    written: BTreeMap<u32, Written>,
    /// Whether it acts for holders elsewhere, whose reports about leases may be wrong.
    is_proxy: bool,
}

/// Last write of a process to a node id.
#[derive(Clone, Debug)]
struct Written {
    record: NodeRecord,
    /// Nonces of later writes of unknown outcome.
    tried: Vec<u64>,
}

impl Observed {
    /// Whether a record contradicts what was observed: it is gone, made anew, or older.
    #[must_use]
    pub fn contradicts(&self, record: Option<&NamespaceRecord>) -> bool {
        match (self.namespace(), record) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(seen), Some(record)) => {
                // `writes` only grows: fewer of them is a restored backup or a stale replica.
                record.namespace_nonce != seen.namespace_nonce || record.writes < seen.writes
            }
        }
    }

    /// Record of the namespace as last seen.
    pub(crate) fn namespace(&self) -> Option<&NamespaceRecord> {
        self.namespace.as_ref().map(|(record, _)| record)
    }

    /// Origin of the record as last seen, which differs in a record made anew.
    pub(crate) fn namespace_nonce(&self) -> Option<u64> {
        self.namespace().map(|seen| seen.namespace_nonce)
    }

    /// Whether the observed namespace is gone or replaced by another one.
    #[must_use]
    pub fn misses(&self, record: Option<&NamespaceRecord>) -> bool {
        let there = record.map(|record| record.namespace_nonce);
        self.namespace_nonce()
            .is_some_and(|seen| there != Some(seen))
    }

    /// The record that this process has seen where one of another namespace nonce is now, and the
    /// store's clock then.
    pub(super) fn former_of(
        &self,
        record: &NamespaceRecord,
    ) -> Option<&(NamespaceRecord, Duration)> {
        let seen = self.namespace.as_ref();
        seen.filter(|(seen, _)| seen.namespace_nonce != record.namespace_nonce)
    }

    /// Whether somebody else has recreated the record or moved its quarantine. A newly learnt key
    /// check does not count.
    #[must_use]
    pub fn has_changed(&self, record: Option<&NamespaceRecord>) -> bool {
        let seen = self.namespace().zip(record);
        let is_moved = seen.is_some_and(|(seen, record)| record.quarantine != seen.quarantine);
        is_moved || self.contradicts(record)
    }

    /// End of the last lease that this process had of a node id, cut at its release; 0 if it had
    /// none.
    #[must_use]
    pub fn end_of(&self, node_id: u32) -> u64 {
        let written = self.written.get(&node_id);
        written.map_or(0, |written| written.record.end)
    }

    /// Whether this process had a lease: then the namespace is not new, whatever the store says.
    #[must_use]
    pub fn has_leased(&self) -> bool {
        self.has_leased
    }

    /// Latest end of all leases of this process.
    #[must_use]
    pub fn latest_end(&self) -> u64 {
        let ends = self.written.values().map(|written| written.record.end);
        ends.max().unwrap_or(0)
    }

    /// Switches to acting for holders elsewhere: their leases are not remembered, since they may
    /// use other servers too.
    pub fn act_as_proxy(&mut self) {
        self.is_proxy = true;
    }

    /// Whether this process acts for holders elsewhere.
    #[must_use]
    pub fn is_proxy(&self) -> bool {
        self.is_proxy
    }

    /// Remembers the current record of the namespace, at a time of the store's clock.
    pub fn note_namespace(&mut self, record: NamespaceRecord, at: Duration) {
        self.namespace = Some((record, at));
    }

    /// Remembers a lease of this process as written.
    pub fn note(&mut self, record: &NodeRecord) {
        self.has_leased = true;
        // Another server may write such a lease next, which would look like a copy of the holder.
        if !self.is_proxy {
            let written = Written {
                record: record.clone(),
                // A write that was answered settles those before it whose outcome was unknown.
                tried: Vec::new(),
            };
            self.written.insert(record.node_id, written);
        }
    }

    /// Remembers a write of unknown outcome.
    pub(crate) fn note_tried(&mut self, nodes: &[NodeChange], nonce: u64) {
        for node in nodes {
            // A node id that is not there was to be acquired: its acquire remembers the try itself.
            if let Some(written) = self.written.get_mut(&node.after.node_id) {
                written.tried.push(nonce);
            }
        }
    }

    /// A lease as this process knows it.
    pub(crate) fn current_lease(&self, grant: &Grant) -> CurrentLease {
        let written = self.written.get(&grant.node_id);
        // A device's lease may be renewed by any server, in turns.
        let written = written.filter(|written| {
            written.record.is_of(grant) && !written.record.holder.starts_with(DEVICE)
        });
        CurrentLease {
            grant: *grant,
            written: written.map(|written| (written.record.serial, written.record.nonce)),
            tried: written.map_or_else(Vec::new, |written| written.tried.clone()),
            next: None,
        }
    }

    /// The record of a lease as this process wrote it last, unless the outcome of a later write is
    /// unknown.
    pub(crate) fn node_of(&self, grant: &Grant) -> Option<Node> {
        let written = self.written.get(&grant.node_id)?;
        // After a write of unknown outcome the record may be either one: only a read tells.
        let is_known = written.record.is_of(grant) && written.tried.is_empty();
        is_known.then(|| Node {
            node_id: grant.node_id,
            record: Some(written.record.clone()),
        })
    }
}
