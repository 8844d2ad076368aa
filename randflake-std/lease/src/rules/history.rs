//! History of leases: every lease of a node id that was followed by another.
//!
//! The record of a node id is its latest lease. The acquire that replaces it stores it unchanged
//! under a key of the history, and puts its hash into the new lease: so a later change or removal
//! is detected.

use sha2::{Digest, Sha256};

use super::{Before, Entry, Key, NodeChange, NodeRecord, StoreTime};
use crate::types::{HISTORY_KEPT, PastLease, Record};

/// Number of places in the history of a node id: then the latest lease overwrites the oldest.
pub(crate) const KEPT: u64 = 1 << u16::BITS;

/// Link from a lease to the earlier leases of its node id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryLink {
    /// Number of earlier leases.
    pub count: u64,
    /// End of the previous lease; 0 if there was none.
    pub end: u64,
    /// Hash of the previous lease, which includes the hash of the one before it.
    pub hash: u128,
}

impl HistoryLink {
    /// Makes the link of a lease that follows `former`.
    #[must_use]
    pub fn behind(former: &NodeRecord) -> Self {
        Self {
            count: former.past.count.saturating_add(1),
            end: former.end,
            hash: hash(former.node_id, &former.to_text()),
        }
    }
}

/// Hash of a stored lease: the first half of a SHA-256.
pub(crate) fn hash(node_id: u32, text: &str) -> u128 {
    let digest = Sha256::new()
        // The text does not have the node id: without it a lease could be moved to another one.
        .chain_update(node_id.to_be_bytes())
        .chain_update(text)
        .finalize();
    // 128 bits are enough: the hash reveals tampering and faults, and two leases with one hash
    // would have to be found on purpose.
    let (half, _) = digest.split_at(size_of::<u128>());
    half.iter()
        .fold(0, |number, byte| number << u8::BITS | u128::from(*byte))
}

/// Key of the lease that had `count` leases before it.
pub(crate) fn key(node_id: u32, count: u64) -> Key {
    Key::History(node_id, place(count))
}

pub(crate) fn place(count: u64) -> u16 {
    u16::try_from(count % KEPT).unwrap_or_default()
}

/// Entry that stores the lease which a change replaces.
pub(crate) fn entry(change: &NodeChange) -> Option<Entry> {
    // The first lease of a node id replaces nothing.
    let former = change.before.as_ref()?;
    // A renewal keeps the count and leaves no entry; an acquire raises it.
    // A renewal or a release changes the latest lease; it does not make it an earlier one.
    (former.past.count != change.after.past.count).then(|| Entry {
        key: key(former.node_id, former.past.count),
        // Unconditional: a store that has forgotten later leases may still have one of them in this
        // place.
        before: Before::Anything,
        after: Some(former.to_text()),
    })
}

/// Whether the lease before this one is old enough to be removed.
pub(crate) fn is_over(record: &NodeRecord, now: StoreTime, tick_ms: u64) -> bool {
    // In ticks, rounded down: it is over in the tick after those, and so never sooner, however long
    // a tick is.
    let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
    record.past.end.saturating_add(kept) < now.tick
}

impl From<NodeRecord> for PastLease {
    fn from(record: NodeRecord) -> Self {
        Self {
            is_released: !record.held,
            follows: record.past.end,
            record: record.into(),
        }
    }
}

impl From<NodeRecord> for Record {
    fn from(record: NodeRecord) -> Self {
        Self {
            grant: record.grant(),
            contested: record.contested,
            holder: record.holder,
            version: record.capabilities,
        }
    }
}
