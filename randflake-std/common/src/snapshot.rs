//! The leases of a store at one time, and a lease as programs and people read it.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_std::date::{span, utc};
use randflake_std::lease::{LeaseStore, Record, StoreError};
use randflake_std::randflake_core::LayoutSpec;
use serde::Serialize;

use crate::date::whole_ms;
use crate::failure::visible;

/// The leases of a store at one time of its own clock.
#[derive(Debug)]
pub struct Snapshot {
    spec: LayoutSpec,
    now: Duration,
    records: Vec<Record>,
}

impl Snapshot {
    /// Reads all leases.
    pub fn take(store: &mut LeaseStore) -> Result<Self, StoreError> {
        // The time first: a lease that is granted in between then counts as live, not as expired.
        let now = store.now()?;
        Ok(Self {
            spec: store.namespace().spec(),
            now,
            records: store.list()?,
        })
    }

    /// Up to `most` records from a node id on, all or those that have not expired; and from which
    /// node id on there are more. However many node ids there are, few records are in memory.
    pub fn part(
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
            let kept: Vec<_> = found
                .into_iter()
                .filter(|record| all || part.is_live(record))
                .collect();
            part.records.extend(kept);
        }
        let next = part.records.get(most).map(|record| record.grant.node_id);
        part.records.truncate(most);
        Ok((part, next))
    }

    /// Time of the store's clock.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The tick now; before the layout's epoch it is 0.
    pub fn tick(&self) -> u64 {
        self.spec.tick_at(self.now).unwrap_or_default()
    }

    /// Every record, in the order of node ids.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The leases that have not expired.
    pub fn live(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| self.is_live(record))
    }

    /// Whether a lease has not expired.
    pub fn is_live(&self, record: &Record) -> bool {
        // By the store's clock, by which the rules decide whether a node id may be leased again.
        self.tick() < record.grant.end
    }

    /// Beginning of a lease, since 1970.
    pub fn start(&self, record: &Record) -> Duration {
        Duration::from_millis(self.spec.unix_ms(record.grant.start))
    }

    /// End of a lease, since 1970.
    pub fn end(&self, record: &Record) -> Duration {
        Duration::from_millis(self.spec.unix_ms(record.grant.end))
    }

    /// How long until the lease expires, unless it is renewed; zero if it has expired.
    pub fn remaining(&self, record: &Record) -> Duration {
        self.end(record).saturating_sub(self.now)
    }
}

/// A lease as programs read it.
#[derive(Debug, Serialize)]
pub struct LeaseRow<'a> {
    node: u32,
    live: bool,
    start_unix_ms: u64,
    end_unix_ms: u64,
    start_utc: String,
    end_utc: String,
    remaining_ms: u64,
    fencing_token: u64,
    contested: bool,
    holder: &'a str,
    version: u8,
}

impl<'a> LeaseRow<'a> {
    /// The row of a record.
    pub fn of(snapshot: &Snapshot, record: &'a Record) -> Self {
        Self {
            node: record.grant.node_id,
            live: snapshot.is_live(record),
            start_unix_ms: whole_ms(snapshot.start(record)),
            end_unix_ms: whole_ms(snapshot.end(record)),
            start_utc: utc(snapshot.start(record)),
            end_utc: utc(snapshot.end(record)),
            remaining_ms: whole_ms(snapshot.remaining(record)),
            fencing_token: record.grant.fencing_token,
            contested: record.contested,
            holder: &record.holder,
            version: record.version,
        }
    }
}

impl Display for LeaseRow<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let remaining = if self.live {
            span(Duration::from_millis(self.remaining_ms))
        } else {
            "over".to_owned()
        };
        let contested = if self.contested {
            ", contested by a copy of it"
        } else {
            ""
        };
        write!(
            f,
            "{:<6}  {}  {}  {remaining:<7}  {}{contested}",
            self.node,
            self.start_utc,
            self.end_utc,
            // A client that acquires chooses the name: an escape sequence in it must not reach the
            // operator's terminal.
            visible(self.holder)
        )
    }
}

/// A device's number, as it is typed.
pub fn device_id(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    let number = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten();
    number.ok_or_else(|| "1 to 16 hex digits are allowed".to_owned())
}
