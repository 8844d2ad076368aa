//! Which lease of a node id covers a tick, without reading the node id's whole history.
//!
//! The leases of a node id are in the order of their counts and of their starts. So a few texts, evenly spread over what is
//! left, narrow the search seventeenfold: of 65,536 leases, at most 64 texts are read, in four steps.
//!
//! The lease that is found must have the hash that the one after it has. Of the others, those that are read must be in
//! order, and have the right hash where the one after them is read too. Those that are not read are not checked:
//! [`LeaseStore::history`](crate::lease::LeaseStore::history) follows the whole chain.

use super::{Ask, Records};
use crate::rules::history::{hash, is_over, key, only};
use crate::rules::{Keys, NodeRecord, StoreTime};
use crate::vocabulary::{EngineError, Gap, NodeHistory, UnknownCause};

/// Texts of one read.
const PROBES: u64 = 16;

/// What is kept of the last lease that begins at or before the tick.
enum Former {
    /// This lease, and its text.
    Lease(Box<NodeRecord>, String),
    Missing,
    Changed,
    /// Later leases took its place.
    Replaced,
}

impl Records {
    /// The leases of a node id that tell who held it at a tick.
    pub(super) fn history_at(
        &mut self,
        node_id: u32,
        tick: u64,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        let latest = self.latest(node_id)?;
        let mut found = match &latest {
            Some(latest) => self.around(latest, tick, now)?,
            None => NodeHistory::default(),
        };
        // A history without its latest lease must not answer that nobody held the node id.
        if self.is_latest_lost(node_id, latest.as_ref())? {
            found.lose_latest(node_id, now.tick);
        }
        Ok(found)
    }

    /// The last lease that begins at or before a tick, and the first one that begins after it.
    pub(super) fn around(
        &mut self,
        latest: &NodeRecord,
        tick: u64,
        now: StoreTime,
    ) -> Result<NodeHistory, EngineError> {
        if latest.start <= tick {
            // No earlier lease covers the tick, because leases of a node id are disjoint.
            return Ok(only(latest));
        }
        let node_id = latest.node_id;
        let mut next = latest.clone();
        // Leases before this count begin at or before the tick, or are gone.
        let mut low = latest.past.count.saturating_sub(self.profile.history);
        let mut former = Former::Replaced;
        while low < next.past.count {
            // 16 texts leave a 17th of the range. Four reads do, as 17^4 exceeds 65,536.
            let counts = probes(low, next.past.count);
            let keys: Vec<_> = counts
                .iter()
                .map(|count| Keys::One(key(node_id, *count)))
                .collect();
            let texts = self.engine().read(&Ask::texts(&keys))?.texts;
            // The highest ones come first, so that one which is missing hides those before it.
            for count in counts.into_iter().rev() {
                let there = match texts.get(&key(node_id, count)) {
                    None => Former::Missing,
                    Some(text) => {
                        let record = NodeRecord::from_text(node_id, text, self.knows);
                        probe(record.ok(), text, count, &next, latest)
                    }
                };
                match there {
                    Former::Lease(record, _) if record.start > tick => next = *record,
                    // It begins by the tick, or hides those before it: go on behind it.
                    there => {
                        former = there;
                        low = count + 1;
                        break;
                    }
                }
            }
        }
        let gap = |is_changed| Gap {
            node_id,
            before: next.start,
            fencing_token: next.fencing_token,
            is_changed,
        };
        let tick_ms = self.namespace.spec().tick_ms();
        Ok(match former {
            // The first lease of all: there is nothing before it, whatever was read.
            _ if next.past.count == 0 => NodeHistory::new(vec![next], None),
            Former::Lease(record, text) if hash(node_id, &text) == next.past.hash => {
                NodeHistory::new(vec![*record, next], None)
            }
            Former::Missing if is_over(&next, now, tick_ms) => {
                NodeHistory::new(vec![next], Some(UnknownCause::Old))
            }
            Former::Replaced => NodeHistory::new(vec![next], Some(UnknownCause::Replaced)),
            Former::Missing => NodeHistory::behind_gap(vec![next.clone()], gap(false)),
            Former::Lease(..) | Former::Changed => {
                NodeHistory::behind_gap(vec![next.clone()], gap(true))
            }
        })
    }
}

/// Counts that divide a range evenly, or all of a short one.
fn probes(low: u64, high: u64) -> Vec<u64> {
    let width = high - low;
    if width <= PROBES {
        return (low..high).collect();
    }
    let at = |nth| low + width * nth / (PROBES + 1);
    (1..=PROBES).map(at).collect()
}

/// What a text is, and the record that it was read as, in the place of a count.
fn probe(
    record: Option<NodeRecord>,
    text: &str,
    count: u64,
    next: &NodeRecord,
    latest: &NodeRecord,
) -> Former {
    let Some(record) = record else {
        return Former::Changed;
    };
    if record.past.count >= latest.past.count {
        // The node id was leased meanwhile, so that the oldest lease had to go.
        return Former::Replaced;
    }
    let is_next = count + 1 == next.past.count;
    let is_linked = !is_next || hash(next.node_id, text) == next.past.hash;
    if record.past.count == count && record.end <= next.start && is_linked {
        Former::Lease(Box::new(record), text.to_owned())
    } else {
        Former::Changed
    }
}
