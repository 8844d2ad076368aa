//! The leases of a store at one time.

use core::time::Duration;

use randflake_std::lease::{LeaseStore, Record, StoreError};
use randflake_std::randflake_core::LayoutSpec;

/// The leases of a store at one time of its own clock.
#[derive(Debug)]
pub(crate) struct Snapshot {
    spec: LayoutSpec,
    now: Duration,
    records: Vec<Record>,
}

impl Snapshot {
    pub(crate) fn take(store: &mut LeaseStore) -> Result<Self, StoreError> {
        // The time first: a lease that is granted in between then counts as live, not as expired.
        let now = store.now()?;
        Ok(Self {
            spec: store.namespace().spec(),
            now,
            records: store.list()?,
        })
    }

    /// Up to `most` records from a node id on, all or those that have not expired; and from which node id on there are
    /// more. However many node ids there are, few records are in memory.
    #[cfg(feature = "serve")]
    pub(crate) fn part(
        store: &mut LeaseStore,
        first: u32,
        most: usize,
        all: bool,
    ) -> Result<(Self, Option<u32>), StoreError> {
        const MOST_AT_ONCE: usize = 1_024;
        let mut part = Self {
            now: store.now()?,
            spec: store.namespace().spec(),
            records: Vec::new(),
        };
        let mut next = Some(first);
        let mut at_once = most.saturating_add(1).min(MOST_AT_ONCE);
        // One more than `most`: its node id is where the next part begins.
        while let Some(first) = next.filter(|_| part.records.len() <= most) {
            let found = store.list_from(first, at_once)?;
            // A short answer is the last one: asking again would only find nothing.
            let last = found.last().filter(|_| found.len() == at_once);
            // Behind many that have expired, more at once are fewer requests.
            at_once = (2 * at_once).min(MOST_AT_ONCE);
            next = last.and_then(|last| last.grant.node_id.checked_add(1));
            let kept = found
                .into_iter()
                .filter(|record| all || part.is_live(record));
            let kept: Vec<_> = kept.collect();
            part.records.extend(kept);
        }
        let next = part.records.get(most).map(|record| record.grant.node_id);
        part.records.truncate(most);
        Ok((part, next))
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// The tick now; before the layout's epoch it is 0.
    pub(crate) fn tick(&self) -> u64 {
        self.spec.tick_at(self.now).unwrap_or_default()
    }

    /// Every record, in the order of node ids.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The leases that have not expired.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| self.is_live(record))
    }

    pub(crate) fn is_live(&self, record: &Record) -> bool {
        // By the store's clock, by which the rules decide whether a node id may be leased again.
        self.tick() < record.grant.end
    }

    pub(crate) fn start(&self, record: &Record) -> Duration {
        Duration::from_millis(self.spec.unix_ms(record.grant.start))
    }

    pub(crate) fn end(&self, record: &Record) -> Duration {
        Duration::from_millis(self.spec.unix_ms(record.grant.end))
    }

    /// How long until the lease expires, unless it is renewed; zero if it has expired.
    pub(crate) fn remaining(&self, record: &Record) -> Duration {
        self.end(record).saturating_sub(self.now)
    }
}
