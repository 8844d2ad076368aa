//! The history of leases: each lease of a node id that another one has followed.
//!
//! The record of a node id is its latest lease. The acquire that replaces it keeps it under a key of the history, as it
//! was, and gives the new one its hash: so a change shows, and so does a removal.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Before, Engine, Entry, Key, Keys, NodeChange, NodeRecord, Records, StoreTime};
use crate::lease::{EngineError, Gap, HISTORY_KEPT, NodeHistory, UnknownCause};

/// Places of the history of one node id: from then on the latest lease takes the place of the oldest one.
pub(super) const KEPT: u64 = 1 << u16::BITS;
/// Leases that are read together.
const READ_AT_ONCE: u64 = 256;
/// Leases of a node id between two looks for those that were kept long enough.
const PRUNED_EVERY: u64 = 64;
/// Places that are emptied together.
const PRUNED_AT_ONCE: u64 = 1_024;

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
pub(super) fn hash(node_id: u32, text: &str) -> u128 {
    let digest = Sha256::new()
        .chain_update(node_id.to_be_bytes())
        .chain_update(text)
        .finalize();
    let (half, _) = digest.split_at(size_of::<u128>());
    half.iter()
        .fold(0, |number, byte| number << u8::BITS | u128::from(*byte))
}

/// Where a lease is kept that had so many before it.
pub(super) fn key(node_id: u32, count: u64) -> Key {
    Key::Past(node_id, place(count))
}

fn place(count: u64) -> u16 {
    u16::try_from(count % KEPT).unwrap_or_default()
}

/// What is written of the lease that a change replaces by another.
pub(super) fn entry(change: &NodeChange) -> Option<Entry> {
    let former = change.before.as_ref()?;
    (former.past.count != change.after.past.count).then(|| Entry {
        key: key(former.node_id, former.past.count),
        // What a store had there that has forgotten later leases.
        before: Before::Anything,
        after: Some(former.to_text()),
    })
}

/// A file of one node id has room for one lease.
pub(super) fn only(latest: &NodeRecord) -> NodeHistory {
    let cut = (latest.past.count > 0).then_some(UnknownCause::Replaced);
    NodeHistory::new(vec![latest.clone()], cut)
}

/// Whether the lease before this one may be removed.
pub(super) fn is_over(record: &NodeRecord, now: StoreTime, tick_ms: u64) -> bool {
    let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
    record.past.end.saturating_add(kept) < now.tick
}

impl<E: Engine> Records<E> {
    /// The leases of a node id that are kept, from the oldest one to this one; and where one of them should be there
    /// and is not, or is another. Each is compared with the hash in the one after it.
    pub(super) fn history_of(
        &mut self,
        latest: &NodeRecord,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        if self.engine.assigned().is_some() {
            return Ok(only(latest));
        }
        let node_id = latest.node_id;
        let tick_ms = self.namespace.spec().tick_ms();
        let oldest = latest.past.count.saturating_sub(KEPT);
        let mut texts = BTreeMap::new();
        let mut found: Vec<NodeRecord> = Vec::new();
        loop {
            let next = found.last().unwrap_or(latest);
            let Some(count) = next
                .past
                .count
                .checked_sub(1)
                .filter(|count| *count >= oldest)
            else {
                break;
            };
            let key = key(node_id, count);
            if !texts.contains_key(&key) {
                // Those of one read have places that follow on each other.
                let first = (count - count % READ_AT_ONCE).max(oldest);
                let keys = Keys::Past(node_id, place(first)..=place(count));
                texts = self.engine.read(&[keys])?.texts;
            }
            let record = match texts.get(&key) {
                Some(text) if hash(node_id, text) == next.past.hash => {
                    self.node_of(node_id, text)?
                }
                None if is_over(next, now, tick_ms) => break,
                there => {
                    let is_changed = there.is_some();
                    let gap = Gap {
                        node_id,
                        before: next.start,
                        fencing_token: next.fencing_token,
                        is_changed,
                    };
                    found.reverse();
                    found.push(latest.clone());
                    return Ok(NodeHistory::behind_gap(found, gap));
                }
            };
            found.push(record);
        }
        found.reverse();
        found.push(latest.clone());
        let cut = match found[0].past.count {
            0 => None,
            count if count > oldest => Some(UnknownCause::Old),
            _ => Some(UnknownCause::Replaced),
        };
        Ok(NodeHistory::new(found, cut))
    }

    /// Whether a lease is kept where the one after the latest would be: later ones were, and their record is gone.
    pub(super) fn is_latest_lost(
        &mut self,
        node_id: u32,
        latest: Option<&NodeRecord>,
    ) -> Result<bool, EngineError> {
        let count = latest.map_or(0, |latest| latest.past.count);
        if count >= KEPT || self.engine.assigned().is_some() {
            return Ok(false); // An earlier one has that place.
        }
        if self.text_of(node_id, count)?.is_none() {
            return Ok(false);
        }
        // Or it was replaced since it was read.
        let again = self.latest(node_id)?;
        Ok(again.map(|again| again.past.count) == latest.map(|latest| latest.past.count))
    }

    /// The latest lease of a node id.
    pub(super) fn latest(&mut self, node_id: u32) -> Result<Option<NodeRecord>, EngineError> {
        Ok(self.list(node_id..=node_id, 1)?.pop())
    }

    /// Now and then, removes leases that ended long ago before one that was just granted. What fails is done by a later
    /// one.
    pub(super) fn prune(&mut self, granted: &NodeRecord) {
        let Past { count, .. } = granted.past;
        if count > 0 && count.is_multiple_of(PRUNED_EVERY) && self.engine.assigned().is_none() {
            _ = self.try_prune(granted);
            self.engine.abandon();
        }
    }

    fn try_prune(&mut self, granted: &NodeRecord) -> Result<(), EngineError> {
        let (node_id, count) = (granted.node_id, granted.past.count);
        let tick_ms = self.namespace.spec().tick_ms();
        let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
        let from = granted.acquired.saturating_sub(kept);
        // The first one that is to be kept: all later ones are.
        let oldest = count.saturating_sub(KEPT);
        let (mut gone, mut stays) = (oldest, count);
        while gone < stays {
            let middle = gone.midpoint(stays);
            match self.text_of(node_id, middle)? {
                Some(text) if self.node_of(node_id, &text)?.end >= from => stays = middle,
                _ => gone = middle + 1,
            }
        }
        // Those before the oldest one have given their places to the latest ones.
        while gone > oldest {
            let last = gone - 1;
            if self.text_of(node_id, last)?.is_none() {
                break;
            }
            gone = (last - last % PRUNED_AT_ONCE).max(oldest);
            let keys = Keys::Past(node_id, place(gone)..=place(last));
            self.engine.forget(&keys)?;
        }
        Ok(())
    }

    fn text_of(&mut self, node_id: u32, count: u64) -> Result<Option<String>, EngineError> {
        let key = key(node_id, count);
        let mut texts = self.engine.read(&[Keys::One(key)])?.texts;
        Ok(texts.remove(&key))
    }
}
