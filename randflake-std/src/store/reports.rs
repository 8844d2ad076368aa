//! What a store tells of its leases, now and earlier. Nothing is written.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::LeaseStore;
use crate::rules::{StoreTime, Wanted};
use crate::vocabulary::{EngineError, Explained, History, Record, StoreError};

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
        self.ready()?;
        // Without terms, clock or quarantine: a list must show what is there, above all in trouble.
        let records = self.records.list(first..=u32::MAX, most)?.into_iter();
        Ok(records.map(Record::from).collect())
    }

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
    pub fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        let state = self.look()?;
        let mut history = state.history();
        let read = self.read_history(&mut history, node_ids, state.now);
        self.records.engine().abandon();
        read?;
        Ok(history)
    }

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
    pub fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        let state = self.look()?;
        let leases = self.records.history_at(node_id, tick, state.now);
        self.records.engine().abandon();
        Ok(state.history().explained(&leases?, tick))
    }

    /// Returns how many node ids were leased at a time, as time since the Unix epoch; none if the history does not reach
    /// back so far. Reads a few records of each node id, as [`explain`](Self::explain).
    ///
    /// # Errors
    ///
    /// As for [`history`](Self::history).
    pub fn live_at(&mut self, unix: Duration) -> Result<Option<u64>, StoreError> {
        let state = self.look()?;
        let tick = state.record.terms.spec.tick_at(unix);
        let mut history = state.history();
        // Before reading a record of each node id for nothing.
        let Some(tick) = tick.filter(|tick| !history.begins_after(*tick)) else {
            return Ok(None);
        };
        let read = self.read_history_at(&mut history, tick, state.now);
        self.records.engine().abandon();
        read?;
        Ok(history.live_at(unix))
    }

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn now(&mut self) -> Result<Duration, StoreError> {
        self.ready()?;
        let view = self.records.read(&Wanted::default())?;
        self.records.engine().abandon();
        Ok(view.now)
    }

    /// Adds all leases of some node ids to a history.
    fn read_history(
        &mut self,
        history: &mut History,
        node_ids: RangeInclusive<u32>,
        now: StoreTime,
    ) -> Result<(), EngineError> {
        let one = Some(*node_ids.start()).filter(|first| first == node_ids.end());
        let latest = self.records.list(node_ids, usize::MAX)?;
        for latest in &latest {
            history.add(latest.node_id, self.records.history_of(latest, now)?);
        }
        // Of all node ids that would be a read for each.
        if let Some(node_id) = one
            && self.records.is_latest_lost(node_id, latest.first())?
        {
            history.lose_latest(node_id, now.tick);
        }
        Ok(())
    }

    /// Adds the leases around a tick, of all node ids.
    fn read_history_at(
        &mut self,
        history: &mut History,
        tick: u64,
        now: StoreTime,
    ) -> Result<(), EngineError> {
        for latest in self.records.list(0..=u32::MAX, usize::MAX)? {
            history.add(latest.node_id, self.records.around(&latest, tick, now)?);
        }
        Ok(())
    }
}
