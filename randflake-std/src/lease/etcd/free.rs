//! Finding free node ids.
//!
//! A page is 256 adjacent node ids, and the first of a page come into use first: the number of its keys says which were
//! never leased. One page is looked at first, at random. If that has too few, the notes of the pages around say which
//! others to look at: a note is the tick before which no node id of its page is free, as far as known. Whoever takes
//! the last free one of a page writes its note, and so does whoever looks in vain; a release clears it. Pages with
//! cleared notes are looked at before those whose tick has come: their holders live, as a rule.
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
const SPAN: u32 = 512;
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

    /// Of a page: its note, and its leases with the soonest ends. One more than is wanted shows if those are all.
    pub(super) fn look_ranges(&self, page: u32, wanted: usize) -> [Range; 2] {
        let limit = if self.has_collided {
            PAGE
        } else {
            CHOICE.max(wanted + 1)
        };
        let node_ids = self.node_ids(page);
        let first = self.keys.lease(*node_ids.start());
        let last = self.keys.lease(*node_ids.end());
        [
            Range::Key(self.keys.note(page)),
            Range::Lowest(first, last, limit),
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
        [noted, leases]: [&Found; 2],
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
        // Where not all are shown, the first are taken to be in use: a wrong guess is refused by the commit. But what
        // this process has leased itself would look forgotten.
        let is_unused = |(place, node_id): &(u64, u32)| {
            if shows_all {
                !used.contains(node_id)
            } else {
                *place >= leases.count && !self.written.contains(node_id)
            }
        };
        let unused = (0..).zip(self.node_ids(page)).filter(is_unused);
        let unused: Vec<_> = unused.map(|(_, node_id)| node_id).collect();
        // In order, because to leave one out leaves a gap; but those who have collided would meet again.
        let missing = wanted.saturating_sub(free.len());
        let choice = unused.len().saturating_sub(missing).min(CHOICE);
        let skipped = if self.has_collided {
            random()? as usize % (choice + 1)
        } else {
            0
        };
        let taken = unused
            .iter()
            .skip(skipped)
            .take(missing)
            .map(|node_id| Node {
                node_id: *node_id,
                record: None,
            });
        free.extend(taken);
        let size = self.node_ids(page).count() as u64;
        let has_gaps = !shows_all && leases.count + (unused.len() as u64) < size;
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
        let [note, leases] = &found[..] else {
            return Err(not_understood());
        };
        self.look(look.page, [note, leases], now, wanted)
    }

    /// Looks at more pages if there are too few in the one that was. If too few are free: when more may be.
    pub(super) fn search(&mut self, now: u64, wanted: usize) -> Result<Option<u64>, StoreError> {
        let found = |looks: &[Look]| looks.iter().map(|look| look.free.len()).sum::<usize>();
        let mut missing = wanted.saturating_sub(found(&self.looks));
        let mut later = Vec::new();
        let pages = self.pages();
        let spans = pages.div_ceil(SPAN);
        let first = self.looks.first().map_or(0, |look| look.page / SPAN);
        let ring = (0..spans).map(|n| (first + n) % spans);
        for span in ring.filter(|_| pages > 1) {
            while missing > 0 {
                let (ready, noted) = self.ready(span, now, missing)?;
                if ready.is_empty() {
                    later.extend(noted);
                    break;
                }
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

    /// Pages of a span that may have a free node id, at random; and when others may have.
    fn ready(
        &mut self,
        span: u32,
        now: u64,
        wanted: usize,
    ) -> Result<(Vec<u32>, Option<u64>), StoreError> {
        let pages = span * SPAN..self.pages().min((span + 1) * SPAN);
        let [first, last] = [pages.start, pages.end - 1].map(|page| self.keys.note(page));
        let limit = CHOICE + self.looks.len() + wanted;
        let lowest = Range::Lowest(first.clone(), last.clone(), limit);
        let mut noted = self.noted(lowest)?;
        if noted.1 < u64::from(pages.end - pages.start) {
            noted = self.noted(Range::Keys(first, last, 0, 0))?;
            let missing: Vec<_> = pages.filter(|page| !noted.0.contains_key(page)).collect();
            let mut write = Write::default();
            for page in missing.iter().take(write.left()) {
                let key = self.keys.note(*page);
                write.compare(&key, 0).put(&key, &note(CLEARED));
            }
            // Else another is doing it.
            self.write(&write)?;
            noted.0.extend(missing.iter().map(|page| (*page, CLEARED)));
        }
        let mut noted = noted.0;
        for look in &self.looks {
            noted.remove(&look.page);
        }
        let later = noted.values().copied().filter(|tick| *tick > now).min();
        noted.retain(|_, tick| *tick <= now);
        let spread = random()? | 1;
        let mut ready: Vec<_> = noted.keys().copied().collect();
        ready.sort_by_key(|page| (noted[page], page.wrapping_mul(spread)));
        Ok((ready, later))
    }

    /// What notes say, by page; and how many there are.
    fn noted(&mut self, range: Range) -> Result<(BTreeMap<u32, u64>, u64), StoreError> {
        let (_, found) = self.get(&[range])?;
        let found = found.first().ok_or_else(not_understood)?;
        let noted = found.kvs.iter().map(|kv| {
            let page = number_of(&kv.key).ok_or_else(not_understood)?;
            Ok((page, said(&kv.value)?))
        });
        Ok((noted.collect::<Result<_, StoreError>>()?, found.count))
    }

    fn look_at(&mut self, pages: &[u32], now: u64, wanted: usize) -> Result<Vec<Look>, StoreError> {
        let ranges: Vec<_> = pages
            .iter()
            .flat_map(|page| self.look_ranges(*page, wanted))
            .collect();
        let (_, found) = self.get(&ranges)?;
        let (found, _) = found.as_chunks();
        let mut looks = Vec::with_capacity(pages.len());
        for (page, [note, leases]) in pages.iter().zip(found) {
            let look = self.look(*page, [note, leases], now, wanted)?;
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
                    .put(&key, &note(until));
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
                write.put(&self.keys.note(page), &note(CLEARED));
            }
        }
    }
}

/// What a note says.
fn said(note: &str) -> Result<u64, StoreError> {
    u64::from_str_radix(note, 16).map_err(|_| not_understood())
}

/// A note that says it.
fn note(tick: u64) -> String {
    format!("{tick:016x}")
}

fn random() -> Result<u32, StoreError> {
    getrandom::u32().map_err(StoreError::unavailable)
}
