//! Facet of a store: earlier leases of its node ids, read and pruned in parts.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use super::records::Records;
use super::{Ask, LeaseStore};
use crate::rules::history::{hash, is_over, key, place};
use crate::rules::{HistoryLink, Key, Keys, NodeRecord, Removal, StoreTime};
use crate::types::{
    EngineError, Gap, HISTORY_KEPT, History, MAX_SKEW, NodeHistory, StoreError, TickExplanation,
    UnknownCause,
};

/// Leases that are read, or removed, together.
const READ_AT_ONCE: u64 = 256;
/// Leases of a node id between two looks for those that were kept long enough.
const PRUNED_EVERY: u64 = 64;

impl LeaseStore {
    /// Earlier leases of the namespace's node ids.
    pub fn history(&mut self) -> HistoryReader<'_> {
        HistoryReader { store: self }
    }
}

/// Reader of a namespace's earlier leases, as [`LeaseStore::history`] returns it.
#[derive(Debug)]
pub struct HistoryReader<'a> {
    store: &'a mut LeaseStore,
}

impl HistoryReader<'_> {
    /// Returns the leases of some node ids, also earlier ones: who held which, and when. A lease is
    /// kept for 400 days after its end, and at most the last 65,536 of a node id.
    /// [`StaticStore`](crate::StaticStore) keeps only the last one.
    ///
    /// An acquire of a node id that was leased before writes the earlier lease to the history, in
    /// the same transaction; renewals and releases do not touch it. Each lease has the hash of the
    /// one before it, so [`History`] reports a lease that was changed or removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], and [`StoreError::Terms`] when the namespace has another layout
    /// or secret.
    pub fn read(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        let state = self.store.namespace_state()?;
        let histories = self.store.records.histories(node_ids, state.now)?;
        let mut history = state.history();
        for (node_id, leases) in histories {
            history.add(node_id, leases);
        }
        Ok(history)
    }

    /// Returns who held a node id at a tick of the layout. Reads a few records however long the
    /// history is: of 65,536 leases some twenty, one after the other.
    ///
    /// Of the hashes it checks that of the lease it finds; [`read`](Self::read) checks all.
    /// `Nobody` is said only where the leases before and after the tick are there, or where none
    /// was before. Where one is missing or changed, it reads all of them.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub fn explain(&mut self, node_id: u32, tick: u64) -> Result<TickExplanation, StoreError> {
        let state = self.store.namespace_state()?;
        let leases = self
            .store
            .records
            .history_of(node_id, Some(tick), state.now)?;
        Ok(state.history().explained(&leases, tick))
    }
}

impl Records {
    /// The leases of some node ids that are kept.
    fn histories(
        &mut self,
        node_ids: RangeInclusive<u32>,
        now: StoreTime,
    ) -> Result<Vec<(u32, NodeHistory)>, EngineError> {
        // Whether the latest lease is gone is asked for one node id: of all that would be a read
        // for each.
        let first = *node_ids.start();
        if first == *node_ids.end() {
            return Ok(vec![(first, self.history_of(first, None, now)?)]);
        }
        self.list(node_ids, usize::MAX)?
            .iter()
            .map(|latest| Ok((latest.node_id, self.chain(latest, now)?)))
            .collect()
    }

    /// The leases of a node id that are kept; with a tick, at least those that tell who had the
    /// node id then.
    pub(super) fn history_of(
        &mut self,
        node_id: u32,
        at: Option<u64>,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        let latest = self.latest(node_id)?;
        let latest = latest.as_ref();
        let mut history = match (latest, at) {
            (Some(latest), Some(tick)) => match self.around(latest, tick, now)? {
                Some(found) => found,
                None => self.chain(latest, now)?,
            },
            (Some(latest), None) => self.chain(latest, now)?,
            (None, _) => NodeHistory::default(),
        };
        // A history without its latest lease must not answer that nobody held the node id.
        if let Some(kept) = self.kept_behind(node_id, latest)? {
            let spec = self.namespace.spec();
            let ahead = spec.tick_at(now.unix + MAX_SKEW).unwrap_or(now.tick) + 1;
            let kept = NodeRecord::from_text(node_id, &kept, self.capabilities);
            history.lose_latest(node_id, kept.ok().map(|kept| kept.start), ahead);
        }
        Ok(history)
    }

    /// The last lease that begins at or before a tick, and the one after it, by bisection: counts
    /// and starts both grow. `None` if they are not as they should be, or another one has misled
    /// it: the [`chain`](Self::chain) says where.
    fn around(
        &mut self,
        latest: &NodeRecord,
        tick: u64,
        now: StoreTime,
    ) -> Result<Option<NodeHistory>, EngineError> {
        let node_id = latest.node_id;
        if latest.start <= tick {
            // Leases of a node id are disjoint, so none before it covers the tick.
            return Ok(Some(NodeHistory::new([latest.clone()], None)));
        }
        let oldest = latest.past.count.saturating_sub(self.profile.history);
        let (mut low, mut next, mut former) = (oldest, latest.clone(), None);
        while low < next.past.count {
            let middle = low.midpoint(next.past.count);
            let text = self.text_of(node_id, middle)?.unwrap_or_default();
            let record = NodeRecord::from_text(node_id, &text, self.capabilities).ok();
            match record.filter(|record| record.past.count == middle) {
                Some(record) if record.start > tick => next = record,
                // One that is missing was removed with all before it, as a rule.
                record => {
                    low = middle + 1;
                    former = record.map(|record| (record, hash(node_id, &text)));
                }
            }
        }
        let tick_ms = self.namespace.spec().tick_ms();
        Ok(match former {
            _ if next.past.count == 0 => Some(NodeHistory::new([next], None)),
            Some((former, hash)) if hash == next.past.hash => {
                Some(NodeHistory::new([former, next], None))
            }
            None if is_over(&next, now, tick_ms) => {
                Some(NodeHistory::new([next], Some(UnknownCause::Old)))
            }
            None if next.past.count == oldest => {
                Some(NodeHistory::new([next], Some(UnknownCause::Replaced)))
            }
            _ => None,
        })
    }

    /// The latest lease and all that it follows on, from the oldest one that is kept; and where one
    /// of them should be there and is not, or is another. Each is compared with the hash in the one
    /// after it.
    pub(super) fn chain(
        &mut self,
        latest: &NodeRecord,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        let node_id = latest.node_id;
        let tick_ms = self.namespace.spec().tick_ms();
        let oldest = latest.past.count.saturating_sub(self.profile.history);
        let mut texts = BTreeMap::new();
        let mut found = vec![latest.clone()];
        let mut gap = None;
        loop {
            let next = &found[found.len() - 1];
            let count = next.past.count.checked_sub(1);
            let Some(count) = count.filter(|count| *count >= oldest) else {
                break;
            };
            let key = key(node_id, count);
            if !texts.contains_key(&key) {
                // Those of one read have places that follow on each other.
                // Aligned, and the number of places is a multiple: a range never wraps around.
                let first = (count - count % READ_AT_ONCE).max(oldest);
                texts = self.past_texts(node_id, first, count)?;
            }
            match texts.get(&key) {
                Some(text) if hash(node_id, text) == next.past.hash => {
                    found.push(self.node_of(node_id, text)?);
                }
                // Old enough for `prune`: it is not missing, but removed.
                None if is_over(next, now, tick_ms) => break,
                there => {
                    gap = Some(Gap {
                        node_id,
                        before: next.start,
                        fencing_token: next.fencing_token,
                        is_changed: there.is_some(),
                    });
                    break;
                }
            }
        }
        found.reverse();
        if let Some(gap) = gap {
            return Ok(NodeHistory::behind_gap(found, gap));
        }
        let cut = match found[0].past.count {
            0 => None,
            count if count > oldest => Some(UnknownCause::Old),
            _ => Some(UnknownCause::Replaced),
        };
        Ok(NodeHistory::new(found, cut))
    }

    /// The lease that is kept where the one after the latest would be: later ones were, and their
    /// record is gone.
    fn kept_behind(
        &mut self,
        node_id: u32,
        latest: Option<&NodeRecord>,
    ) -> Result<Option<String>, EngineError> {
        let count = latest.map_or(0, |latest| latest.past.count);
        if count >= self.profile.history {
            return Ok(None); // An earlier one has that place.
        }
        let Some(kept) = self.text_of(node_id, count)? else {
            return Ok(None);
        };
        // Or it was replaced since it was read.
        // An acquire in between puts a lease there, and raises the count of the record.
        let again = self.latest(node_id)?;
        let is_same = again.map(|again| again.past.count) == latest.map(|latest| latest.past.count);
        Ok(Some(kept).filter(|_| is_same))
    }

    /// Now and then, removes leases that ended long ago before one that was just granted. What
    /// fails is done by a later one.
    pub(super) fn prune(&mut self, granted: &NodeRecord) {
        let HistoryLink { count, .. } = granted.past;
        if count > 0 && count.is_multiple_of(PRUNED_EVERY) {
            // A right to delete may be missing, for example: the grant stands all the same.
            _ = self.try_prune(granted);
        }
    }

    fn try_prune(&mut self, granted: &NodeRecord) -> Result<(), EngineError> {
        let (node_id, count) = (granted.node_id, granted.past.count);
        let tick_ms = self.namespace.spec().tick_ms();
        let kept = u64::try_from(HISTORY_KEPT.as_millis()).unwrap_or(u64::MAX) / tick_ms;
        let from = granted.start.saturating_sub(kept);
        let oldest = count.saturating_sub(self.profile.history);
        // Ends are in the order of counts. The last one that was read and is over: all before it
        // are.
        let mut last = None;
        let (mut low, mut high) = (oldest, count);
        while low < high {
            let middle = low.midpoint(high);
            match self.text_of(node_id, middle)? {
                Some(text) if self.node_of(node_id, &text)?.end >= from => high = middle,
                there => {
                    // One that is missing counts as over, but proves nothing of those before it.
                    last = there.map(|_| middle).or(last);
                    low = middle + 1;
                }
            }
        }
        let Some(last) = last else {
            return Ok(());
        };
        // Those before the oldest one have given their places to the latest ones.
        let mut first = last;
        while first > oldest {
            let begin = ((first - 1) - (first - 1) % READ_AT_ONCE).max(oldest);
            // A few may be missing, but so many only where an earlier look has removed them.
            if self.past_texts(node_id, begin, first - 1)?.is_empty() {
                break;
            }
            first = begin;
        }
        // The oldest ones first: if it fails, those that are left have none before them.
        while first <= last {
            let end = (first - first % READ_AT_ONCE + READ_AT_ONCE - 1).min(last);
            let places = place(first)..=place(end);
            self.engine().remove(&Removal::History(node_id, places))?;
            first = end + 1;
        }
        Ok(())
    }

    /// Earlier leases from one count to another, whose places follow on each other.
    fn past_texts(
        &mut self,
        node_id: u32,
        first: u64,
        last: u64,
    ) -> Result<BTreeMap<Key, String>, EngineError> {
        let keys = Keys::History(node_id, place(first)..=place(last));
        Ok(self.engine().read(&Ask::texts(&[keys]))?.texts)
    }

    fn text_of(&mut self, node_id: u32, count: u64) -> Result<Option<String>, EngineError> {
        let texts = self.past_texts(node_id, count, count)?;
        Ok(texts.into_values().next())
    }
}
