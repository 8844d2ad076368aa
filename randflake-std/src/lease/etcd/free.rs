//! Finding free node ids.
//!
//! A page is 256 adjacent node ids, and the first of a page come into use first: those after its last key were never
//! leased. One page is looked at first, at random. If that has too few, the notes of the pages around say which
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

const PAGE: usize = 256;
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
    /// Some that were never leased are not known.
    has_gaps: bool,
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
        let pages = self.namespace.node_ids().div_ceil(PAGE as u64);
        u32::try_from(pages).unwrap_or(u32::MAX)
    }

    pub(super) fn random_page(&self) -> Result<u32, StoreError> {
        Ok(random()? % self.pages())
    }

    /// Of a page: its note, its leases with the soonest ends, and its last one. One more than is wanted shows if those
    /// are all.
    pub(super) fn look_ranges(&self, page: u32, wanted: usize) -> [Range; 3] {
        let node_ids = self.node_ids(page);
        let first = self.keys.lease(*node_ids.start());
        let last = self.keys.lease(*node_ids.end());
        [
            Range::Key(self.keys.note(page)),
            Range::Lowest(first.clone(), last.clone(), CHOICE.max(wanted + 1)),
            Range::Last(first, last),
        ]
    }

    fn node_ids(&self, page: u32) -> core::ops::RangeInclusive<u32> {
        let first = u64::from(page) * PAGE as u64;
        let last = (first + PAGE as u64).min(self.namespace.node_ids()) - 1;
        let narrow = |node_id| u32::try_from(node_id).unwrap_or(u32::MAX);
        narrow(first)..=narrow(last)
    }

    /// What was found there.
    pub(super) fn look(
        &self,
        page: u32,
        found: [&Found; 3],
        now: u64,
        wanted: usize,
    ) -> Result<Look, StoreError> {
        let [noted, leases, last] = found;
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
        let last = last.kvs.first().and_then(|kv| number_of(&kv.key));
        let is_unused = |node_id: &u32| {
            last.is_none_or(|last| *node_id > last) || (shows_all && !used.contains(node_id))
        };
        let unused: Vec<_> = self.node_ids(page).filter(is_unused).collect();
        let has_gaps = self.node_ids(page).count() as u64 > leases.count + unused.len() as u64;
        // In order: to leave one out would leave a gap.
        let missing = wanted.saturating_sub(free.len());
        let taken = unused.iter().take(missing).map(|node_id| Node {
            node_id: *node_id,
            record: None,
        });
        free.extend(taken);
        Ok(Look {
            page,
            noted: noted
                .kvs
                .first()
                .map_or(Ok(CLEARED), |kv| said(&kv.value))?,
            is_all: (shows_all || !ends.is_empty()) && unused.len() <= missing && !has_gaps,
            has_gaps,
            free,
            ends,
        })
    }

    /// Looks again at all of a page where few are free, if there are gaps: node ids that nobody has chosen, among
    /// others that somebody has.
    pub(super) fn fill_gaps(
        &mut self,
        look: Look,
        now: u64,
        wanted: usize,
    ) -> Result<Look, StoreError> {
        if look.free.len() >= wanted || !look.has_gaps {
            return Ok(look);
        }
        let ranges = self.look_ranges(look.page, PAGE);
        let (_, found) = self.get(&ranges)?;
        let [note, leases, last] = &found[..] else {
            return Err(not_understood());
        };
        self.look(look.page, [note, leases, last], now, wanted)
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
        let (_, found) = self.get(&ranges)?;
        let (found, _) = found.as_chunks();
        let mut looks = Vec::with_capacity(pages.len());
        for (page, [note, leases, last]) in pages.iter().zip(found) {
            let look = self.look(*page, [note, leases, last], now, wanted)?;
            looks.push(self.fill_gaps(look, now, wanted)?);
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
            .map(|node| u64::from(node.after.node_id) / PAGE as u64)
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
