//! Finding free node ids.
//!
//! A page is 256 adjacent node ids, and the first of a page come into use first: the number of its keys says which it
//! has left. One page is looked at first, at random. If that has too few, the notes of the pages around say which
//! others to look at: a note is the tick before which no node id of its page is free, as far as known. Whoever takes
//! the last free one of a page writes its note, and so does whoever looks in vain; a release clears it. Pages without
//! a note, and cleared ones, are looked at before those whose tick has come: their holders live, as a rule.
//!
//! All of this is a hint: a wrong one costs another try.

use std::collections::{BTreeMap, BTreeSet};

use super::Etcd;
use super::client::not_understood;
use super::keys::number_of;
use super::transaction::{Found, Range, Write};
use crate::lease::StoreError;
use crate::ledger::{Change, Node};

const PAGE: u64 = 256;
/// Pages whose notes are read together.
const NOTES: u32 = 64;
/// So many times as many, if there are too few free node ids among the first.
const MORE: usize = 16;
const PAGES_AT_ONCE: usize = 8;
/// From so many of a page one is taken at random, so that clients that look at once do not collide.
const CHOICE: usize = 16;
/// A note of a page to look at.
const CLEARED: u64 = 0;

/// A page as it was found.
#[derive(Debug)]
pub(super) struct Look {
    page: u32,
    /// What its note says.
    noted: u64,
    free: Vec<Node>,
    /// No other is free.
    is_all: bool,
    /// The first ends of the others.
    ends: Vec<u64>,
}

impl Look {
    /// Until when the page is full once some node ids are taken, each until a tick.
    fn full_until(&self, taken: &BTreeMap<u32, u64>) -> Option<u64> {
        let mut soonest = self.ends.first().copied().unwrap_or(u64::MAX);
        for node in &self.free {
            soonest = soonest.min(*taken.get(&node.node_id)?);
        }
        self.is_all.then_some(soonest)
    }
}

impl Etcd {
    fn pages(&self) -> u32 {
        let pages = self.namespace.node_ids().div_ceil(PAGE);
        u32::try_from(pages).unwrap_or(u32::MAX)
    }

    pub(super) fn random_page(&self) -> Result<u32, StoreError> {
        Ok(random()? % self.pages())
    }

    /// Of a page: its note, and its leases with the soonest ends. One more than is wanted shows if those are all.
    pub(super) fn look_ranges(&self, page: u32, wanted: usize) -> [Range; 2] {
        let limit = if self.is_in_doubt {
            PAGE.try_into().unwrap_or(usize::MAX)
        } else {
            CHOICE.max(wanted + 1)
        };
        let node_ids = self.node_ids(page);
        let (first, last) = (
            self.keys.lease(*node_ids.start()),
            self.keys.lease(*node_ids.end()),
        );
        [
            Range::Key(self.keys.note(page)),
            Range::Lowest(first, last, limit),
        ]
    }

    fn node_ids(&self, page: u32) -> core::ops::RangeInclusive<u32> {
        let first = u64::from(page) * PAGE;
        let last = (first + PAGE).min(self.namespace.node_ids()) - 1;
        let narrow = |node_id| u32::try_from(node_id).unwrap_or(u32::MAX);
        narrow(first)..=narrow(last)
    }

    /// What was found there.
    pub(super) fn look(
        &self,
        page: u32,
        note: &Found,
        leases: &Found,
        now: u64,
        wanted: usize,
    ) -> Result<Look, StoreError> {
        let (mut free, mut ends, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
        for kv in &leases.kvs {
            let node = Self::node(kv)?;
            used.insert(node.node_id);
            match &node.record {
                Some(record) if record.end > now => ends.push(record.end),
                _ => free.push(node),
            }
        }
        let shows_all = leases.kvs.len() as u64 == leases.count;
        let is_unused = |(place, node_id): &(u64, u32)| {
            if shows_all {
                !used.contains(node_id)
            } else {
                // Unless somebody has chosen others.
                *place >= leases.count
            }
        };
        let mut unused = (0..).zip(self.node_ids(page)).filter(is_unused);
        // In order: to leave one out would leave a gap.
        let missing = wanted.saturating_sub(free.len());
        let taken = unused.by_ref().take(missing).map(|(_, node_id)| Node {
            node_id,
            record: None,
        });
        free.extend(taken);
        Ok(Look {
            page,
            noted: note.kvs.first().map_or(Ok(CLEARED), |kv| said(&kv.value))?,
            is_all: (shows_all || !ends.is_empty()) && unused.next().is_none(),
            free,
            ends,
        })
    }

    /// Looks at more pages if there are too few in the one that was. If too few are free: when more may be.
    pub(super) fn search(&mut self, now: u64, wanted: usize) -> Result<Option<u64>, StoreError> {
        let found = |looks: &[Look]| looks.iter().map(|look| look.free.len()).sum::<usize>();
        let mut missing = wanted.saturating_sub(found(&self.looks));
        let mut later = Vec::new();
        let pages = self.pages();
        let spans = pages.div_ceil(NOTES);
        let first = self.looks.first().map_or(0, |look| look.page / NOTES);
        let mut ring = (0..spans).map(|n| (first + n) % spans);
        let mut at_once = 1;
        while missing > 0 && pages > 1 {
            let spans: Vec<_> = ring.by_ref().take(at_once).collect();
            if spans.is_empty() {
                break;
            }
            at_once = MORE;
            let ready = self.ready(&spans, now, &mut later)?;
            // The first page that is looked at has one, as a rule.
            for ready in ready.chunks(if missing == 1 { 1 } else { PAGES_AT_ONCE }) {
                let new = self.look_at(ready, now, missing)?;
                missing = missing.saturating_sub(found(&new));
                self.looks.extend(new);
                if missing == 0 {
                    break;
                }
            }
        }
        if missing == 0 {
            return Ok(None);
        }
        let mut notes = Write::default();
        self.write_notes(&mut notes, &BTreeMap::new());
        if !notes.is_empty() {
            self.write(&notes)?;
        }
        later.extend(self.looks.iter().flat_map(|look| look.ends.iter().copied()));
        later.sort_unstable();
        // Of several pages only the first ends are known: enough will not have ended before that.
        let nth = if pages == 1 { missing - 1 } else { 0 };
        Ok(later.get(nth).or(later.last()).copied())
    }

    /// The pages of some spans that may have a free node id, at random; and when the others may have.
    fn ready(
        &mut self,
        spans: &[u32],
        now: u64,
        later: &mut Vec<u64>,
    ) -> Result<Vec<u32>, StoreError> {
        let pages = self.pages();
        let span = |n: &u32| n * NOTES..pages.min((n + 1) * NOTES);
        let ranges: Vec<_> = spans
            .iter()
            .map(span)
            .map(|span| {
                let (first, last) = (self.keys.note(span.start), self.keys.note(span.end - 1));
                Range::Keys(first, last, 0, 0)
            })
            .collect();
        let (_, found) = self.get(&ranges)?;
        let mut noted = BTreeMap::new();
        for kv in found.iter().flat_map(|found| &found.kvs) {
            let page = number_of(&kv.key).ok_or_else(not_understood)?;
            noted.insert(page, said(&kv.value)?);
        }
        let mut ready: Vec<_> = spans.iter().flat_map(span).collect();
        ready.retain(|page| {
            let tick = noted.get(page).copied().unwrap_or(CLEARED);
            let is_known = self.looks.iter().any(|look| look.page == *page);
            if tick > now && !is_known {
                later.push(tick);
            }
            tick <= now && !is_known
        });
        let spread = random()? | 1;
        ready.sort_by_key(|page| {
            let tick = noted.get(page).copied().unwrap_or(CLEARED);
            (tick, page.wrapping_mul(spread))
        });
        Ok(ready)
    }

    fn look_at(&mut self, pages: &[u32], now: u64, wanted: usize) -> Result<Vec<Look>, StoreError> {
        let ranges: Vec<_> = pages
            .iter()
            .flat_map(|page| self.look_ranges(*page, wanted))
            .collect();
        let (_, mut found) = self.get(&ranges)?;
        let mut found = found.drain(..);
        let mut looks = Vec::with_capacity(pages.len());
        for page in pages {
            let (Some(note), Some(leases)) = (found.next(), found.next()) else {
                return Err(not_understood());
            };
            looks.push(self.look(*page, &note, &leases, now, wanted)?);
        }
        Ok(looks)
    }

    /// As many as are wanted of those found: at random, but those never leased in order.
    pub(super) fn choose(
        &self,
        wanted: usize,
        but: &BTreeSet<u32>,
    ) -> Result<Vec<Node>, StoreError> {
        let free = self.looks.iter().flat_map(|look| look.free.iter().cloned());
        let free = free.filter(|node| !but.contains(&node.node_id));
        let (mut chosen, unused): (Vec<_>, Vec<_>) = free.partition(|node| node.record.is_some());
        let spread = random()? | 1;
        chosen.sort_by_key(|node| node.node_id.wrapping_mul(spread));
        chosen.extend(unused);
        chosen.truncate(wanted);
        Ok(chosen)
    }

    /// Adds the notes of pages that are full once some node ids are taken until some tick, as far as they fit.
    fn write_notes(&self, write: &mut Write, taken: &BTreeMap<u32, u64>) {
        if self.pages() == 1 {
            return;
        }
        for look in &self.looks {
            if let Some(until) = look.full_until(taken)
                && until > look.noted
                && write.left() > 0
            {
                let key = self.keys.note(look.page);
                write
                    .compare(&key, self.revision_of(&key))
                    .put(&key, &format!("{until:016x}"));
            }
        }
    }

    /// Adds the notes that follow from a change.
    pub(super) fn note(&self, write: &mut Write, change: &Change) {
        let taken = change
            .nodes
            .iter()
            .map(|node| (node.after.node_id, node.after.end));
        self.write_notes(write, &taken.collect());
        let released = change.nodes.iter().filter(|node| !node.after.held);
        let pages: BTreeSet<_> = released
            .map(|node| u64::from(node.after.node_id) / PAGE)
            .collect();
        for page in pages {
            if self.pages() > 1 && write.left() > 0 {
                let page = u32::try_from(page).unwrap_or(u32::MAX);
                write.put(&self.keys.note(page), &format!("{CLEARED:016x}"));
            }
        }
    }
}

/// What a note says.
fn said(note: &str) -> Result<u64, StoreError> {
    u64::from_str_radix(note, 16).map_err(|_| not_understood())
}

fn random() -> Result<u32, StoreError> {
    getrandom::u32().map_err(StoreError::unavailable)
}
