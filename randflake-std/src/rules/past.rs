//! The history of leases: each lease of a node id that another one has followed.
//!
//! The record of a node id is its latest lease. The acquire that replaces it keeps it under a key of the history, as it
//! was, and gives the new one its hash: so a change shows, and so does a removal.

use sha2::{Digest, Sha256};

use super::{Before, Entry, Key, NodeChange, NodeRecord, StoreTime};
use crate::vocabulary::{HISTORY_KEPT, NodeHistory, PastLease, Record, UnknownCause};

/// Places of the history of one node id: from then on the latest lease takes the place of the oldest one.
pub(crate) const KEPT: u64 = 1 << u16::BITS;

/// The leases of a node id before one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// How many there were.
    pub count: u64,
    /// The end of the last one; 0 if there was none.
    pub end: u64,
    /// Of the last one, which has that of the one before it.
    pub hash: u128,
}

impl Past {
    /// That of a lease which follows on another.
    #[must_use]
    pub fn behind(former: &NodeRecord) -> Self {
        Self {
            count: former.past.count.saturating_add(1),
            end: former.end,
            hash: hash(former.node_id, &former.to_text()),
        }
    }
}

/// The first half of its SHA-256.
pub(crate) fn hash(node_id: u32, text: &str) -> u128 {
    let digest = Sha256::new()
        .chain_update(node_id.to_be_bytes())
        .chain_update(text)
        .finalize();
    let (half, _) = digest.split_at(size_of::<u128>());
    half.iter()
        .fold(0, |number, byte| number << u8::BITS | u128::from(*byte))
}

/// Where a lease is kept that had so many before it.
pub(crate) fn key(node_id: u32, count: u64) -> Key {
    Key::Past(node_id, place(count))
}

pub(crate) fn place(count: u64) -> u16 {
    u16::try_from(count % KEPT).unwrap_or_default()
}

/// What is written of the lease that a change replaces by another.
pub(crate) fn entry(change: &NodeChange) -> Option<Entry> {
    let former = change.before.as_ref()?;
    (former.past.count != change.after.past.count).then(|| Entry {
        key: key(former.node_id, former.past.count),
        // What a store had there that has forgotten later leases.
        before: Before::Anything,
        after: Some(former.to_text()),
    })
}

/// A file of one node id has room for one lease.
pub(crate) fn only(latest: &NodeRecord) -> NodeHistory {
    let cut = (latest.past.count > 0).then_some(UnknownCause::Replaced);
    NodeHistory::new([latest.clone()], cut)
}

/// Whether the lease before this one may be removed.
pub(crate) fn is_over(record: &NodeRecord, now: StoreTime, tick_ms: u64) -> bool {
    let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
    record.past.end.saturating_add(kept) < now.tick
}

impl From<NodeRecord> for PastLease {
    fn from(record: NodeRecord) -> Self {
        Self {
            acquired: record.acquired,
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
            version: record.knows,
        }
    }
}
