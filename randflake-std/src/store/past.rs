//! The history of a node id, read and pruned in parts.

use std::collections::BTreeMap;

use super::{Ask, Records};
use crate::rules::history::{hash, is_over, key, place};
use crate::rules::{HistoryLink, Keys, NodeRecord, StoreTime};
use crate::vocabulary::{EngineError, Gap, HISTORY_KEPT, NodeHistory, UnknownCause};

/// Leases that are read together.
const READ_AT_ONCE: u64 = 256;
/// Leases of a node id between two looks for those that were kept long enough.
const PRUNED_EVERY: u64 = 64;
/// Places that are emptied together.
const PRUNED_AT_ONCE: u64 = 1_024;

impl Records {
    /// The leases of a node id that are kept, from the oldest one to this one; and where one of them should be there
    /// and is not, or is another. Each is compared with the hash in the one after it.
    pub(super) fn history_of(
        &mut self,
        latest: &NodeRecord,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        let node_id = latest.node_id;
        let tick_ms = self.namespace.spec().tick_ms();
        let oldest = latest.past.count.saturating_sub(self.profile.history);
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
                // Aligned, and the number of places is a multiple: a range never wraps around.
                let first = (count - count % READ_AT_ONCE).max(oldest);
                let keys = Keys::History(node_id, place(first)..=place(count));
                texts = self.engine().read(&Ask::texts(&[keys]))?.texts;
            }
            let record = match texts.get(&key) {
                Some(text) if hash(node_id, text) == next.past.hash => {
                    self.node_of(node_id, text)?
                }
                // Old enough for `prune`: it is not missing, but removed.
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
        if count >= self.profile.history {
            return Ok(false); // An earlier one has that place.
        }
        if self.text_of(node_id, count)?.is_none() {
            return Ok(false);
        }
        // Or it was replaced since it was read.
        // An acquire in between puts a lease there, and raises the count of the record.
        let again = self.latest(node_id)?;
        Ok(again.map(|again| again.past.count) == latest.map(|latest| latest.past.count))
    }

    /// Now and then, removes leases that ended long ago before one that was just granted. What fails is done by a later
    /// one.
    pub(super) fn prune(&mut self, granted: &NodeRecord) {
        let HistoryLink { count, .. } = granted.past;
        if count > 0 && count.is_multiple_of(PRUNED_EVERY) {
            // A right to delete may be missing, for example: the grant stands all the same.
            _ = self.try_prune(granted);
            self.engine().abandon();
        }
    }

    fn try_prune(&mut self, granted: &NodeRecord) -> Result<(), EngineError> {
        let (node_id, count) = (granted.node_id, granted.past.count);
        let tick_ms = self.namespace.spec().tick_ms();
        let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
        let from = granted.start.saturating_sub(kept);
        // The first one that is to be kept: all later ones are.
        let oldest = count.saturating_sub(self.profile.history);
        let (mut gone, mut stays) = (oldest, count);
        while gone < stays {
            let middle = gone.midpoint(stays);
            match self.text_of(node_id, middle)? {
                Some(text) if self.node_of(node_id, &text)?.end >= from => stays = middle,
                // A text that is missing counts as removed.
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
            let keys = Keys::History(node_id, place(gone)..=place(last));
            self.engine().remove(&keys, None)?;
        }
        Ok(())
    }

    fn text_of(&mut self, node_id: u32, count: u64) -> Result<Option<String>, EngineError> {
        let key = key(node_id, count);
        let mut texts = self.engine().read(&Ask::texts(&[Keys::One(key)]))?.texts;
        Ok(texts.remove(&key))
    }
}
