//! What a store tells of its leases, now and earlier. Nothing is written.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::LeaseStore;
use crate::rules::{StoreTime, Wanted};
use crate::vocabulary::{EngineError, Explained, History, NodeHistory, Record, StoreError};

impl LeaseStore {
    /// Returns every record in order of node ids, including leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        self.list_from(0, usize::MAX)
    }

    /// Returns the first `most` records from a node id on, in order of node ids, including leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        // Without terms, clock or quarantine: a list must show what is there, above all in trouble.
        let records = self.ready()?.list(first..=u32::MAX, most)?.into_iter();
        Ok(records.map(Record::from).collect())
    }

    /// Returns the leases of some node ids, also earlier ones: who held which, and when. A lease is kept for 400 days after
    /// its end, and at most the last 65,536 of a node id. [`StaticStore`](crate::StaticStore) keeps only the last one.
    ///
    /// An acquire of a node id that was leased before writes the earlier lease to the history, in the same transaction;
    /// renewals and releases do not touch it. Each lease has the hash of the one before it, so [`History`] reports a lease
    /// that was changed or removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], and [`StoreError::Terms`] when the namespace has another layout or secret.
    pub fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        let state = self.namespace_state()?;
        let read = self.read_histories(node_ids, state.now)?;
        let mut history = state.history();
        for (node_id, leases) in read {
            history.add(node_id, leases);
        }
        Ok(history)
    }

    /// Returns who held a node id at a tick of the layout. Reads a few records however long the history is: of 65,536
    /// leases some twenty, one after the other.
    ///
    /// Of the hashes it checks that of the lease it finds; [`history`](Self::history) checks all. `Nobody` is said only
    /// where the leases before and after the tick are there, or where none was before. Where one is missing or changed, it
    /// reads all of them.
    ///
    /// # Errors
    ///
    /// As for [`history`](Self::history).
    pub fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        let state = self.namespace_state()?;
        let leases = self.records.history_of(node_id, Some(tick), state.now)?;
        Ok(state.history().explained(&leases, tick))
    }

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn now(&mut self) -> Result<Duration, StoreError> {
        let records = self.ready()?;
        let view = records.read(&Wanted::default())?;
        records.engine().abandon();
        Ok(view.now)
    }

    /// The leases of some node ids.
    fn read_histories(
        &mut self,
        node_ids: RangeInclusive<u32>,
        now: StoreTime,
    ) -> Result<Vec<(u32, NodeHistory)>, EngineError> {
        // Whether the latest lease is gone is asked for one node id: of all that would be a read for each.
        let first = *node_ids.start();
        if first == *node_ids.end() {
            return Ok(vec![(first, self.records.history_of(first, None, now)?)]);
        }
        let latest = self.records.list(node_ids, usize::MAX)?.into_iter();
        let leases = latest.map(|latest| Ok((latest.node_id, self.records.chain(&latest, now)?)));
        leases.collect()
    }
}
