//! Finding node ids that are free.
//!
//! A page is 256 adjacent node ids, and the first of a page come into use first: the number of its keys
//! says which it has left. One page is looked at first, at random. When that has too few, the pages' notes
//! say which others are worth a look: a note is the tick before which no node id of a page is free, as far
//! as known. Who takes the last free one of a page writes its note, and who looks in vain; a release clears
//! it; and of a page that is full a renewal writes it anew half a TTL before that tick, so that nobody has to
//! look at a page whose holders live.

use std::collections::{BTreeMap, BTreeSet};

use super::EtcdStore;
use super::client::not_understood;
use super::record::{Keys, Lease, node_of};
use super::transaction::{Found, Kv, Range, Write};
use crate::lease::StoreError;

const PAGE: u64 = 256;
/// Of pages that are looked at together.
const PAGES_AT_ONCE: usize = 8;
/// etcd refuses more than 128 operations in a transaction.
const NOTES_AT_ONCE: usize = 100;
/// From so many of a page one is taken at random, so that those who look at once do not meet.
const CHOICE: u64 = 16;

/// What a note says of a page that is worth a look.
pub(super) const NOTHING_KNOWN: u64 = 0;

/// A node id, and what its key holds if there is one.
#[derive(Clone, Debug)]
pub(super) struct Free {
    pub(super) node_id: u32,
    /// Of its key; 0 if there is none.
    pub(super) revision: u64,
    pub(super) former: Option<Lease>,
}

/// What was found: enough, or when enough will be.
#[derive(Debug)]
pub(super) enum Search {
    Enough(Vec<Look>),
    /// The tick.
    Later(u64),
}

/// Adjacent node ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    number: u64,
    from: u64,
    to: u64,
}

/// A page as it was found.
#[derive(Debug)]
pub(super) struct Look {
    page: Page,
    /// Of its note; 0 if there is none.
    revision: u64,
    /// What its note says.
    noted: u64,
    pub(super) free: Vec<Free>,
    /// Whether no other is free.
    is_all: bool,
    /// Of those that are not free the first ends, in their order.
    ends: Vec<u64>,
}

pub(super) fn pages(node_ids: u64) -> u64 {
    node_ids.div_ceil(PAGE)
}

pub(super) fn page_of(node_id: u32) -> u64 {
    u64::from(node_id) / PAGE
}

impl Page {
    pub(super) fn at(number: u64, node_ids: u64) -> Self {
        let from = number * PAGE;
        Self {
            number,
            from,
            to: (from + PAGE).min(node_ids),
        }
    }

    pub(super) fn random(node_ids: u64) -> Result<Self, StoreError> {
        Ok(Self::at(random()? % pages(node_ids), node_ids))
    }

    /// Its note, and its leases that ended first: one more than is wanted, which shows whether those are all.
    pub(super) fn ranges(self, keys: &Keys, wanted: u64) -> [Range; 2] {
        let (from, to) = (keys.lease(self.from), keys.lease(self.to));
        let limit = wanted.saturating_add(1).max(CHOICE);
        [
            Range::Key(keys.note(self.number)),
            Range::Lowest(from, to, limit),
        ]
    }

    /// What these were, when so many are wanted.
    pub(super) fn look(
        self,
        note: &Found,
        leases: &Found,
        now: u64,
        wanted: u64,
    ) -> Result<Look, StoreError> {
        let (mut free, mut ends) = (Vec::new(), Vec::new());
        for kv in &leases.kvs {
            let lease = Lease::read(&kv.key, &kv.value).ok_or_else(not_understood)?;
            if lease.grant.end > now {
                ends.push(lease.grant.end);
                continue;
            }
            free.push(Free {
                node_id: lease.grant.node_id,
                revision: kv.revision,
                former: Some(lease),
            });
        }
        let shows_all = !ends.is_empty() || leases.kvs.len() as u64 == leases.count;
        let missing = wanted.saturating_sub(free.len() as u64);
        let unused = (self.from + leases.count)..self.to;
        // In order: who takes the next but one would leave a gap.
        for node in unused
            .clone()
            .take(usize::try_from(missing).unwrap_or(usize::MAX))
        {
            free.push(Free {
                node_id: u32::try_from(node).map_err(|_| not_understood())?,
                revision: 0,
                former: None,
            });
        }
        let note = note.kvs.first();
        Ok(Look {
            page: self,
            revision: note.map_or(0, |kv| kv.revision),
            noted: note.map_or(Ok(NOTHING_KNOWN), said)?,
            free,
            is_all: shows_all && unused.count() as u64 <= missing,
            ends,
        })
    }
}

impl Look {
    /// What its note shall say.
    fn note(&self) -> u64 {
        match self.ends.first() {
            Some(&end) if self.free.is_empty() => end,
            _ => NOTHING_KNOWN,
        }
    }
}

/// Takes as many as are wanted, at random. Those without a key stay in order, and come last.
pub(super) fn choose(looks: &[Look], wanted: u64) -> Result<Vec<Free>, StoreError> {
    let free = looks.iter().flat_map(|look| look.free.iter().cloned());
    let (mut chosen, unused): (Vec<_>, Vec<_>) = free.partition(|free| free.former.is_some());
    for at in (1..chosen.len()).rev() {
        let other = usize::try_from(random()? % (at as u64 + 1)).unwrap_or(0);
        chosen.swap(at, other);
    }
    chosen.extend(unused);
    chosen.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
    chosen.sort_unstable_by_key(|free| free.node_id);
    Ok(chosen)
}

impl EtcdStore {
    pub(super) fn pages(&self) -> u64 {
        pages(self.namespace.node_ids())
    }

    /// Looks at other pages, after one had too few.
    pub(super) fn search(
        &mut self,
        now: u64,
        wanted: u64,
        first: Look,
    ) -> Result<Search, StoreError> {
        let mut seen = BTreeSet::from([first.page.number]);
        let mut missing = wanted.saturating_sub(first.free.len() as u64);
        self.write_notes(core::slice::from_ref(&first), now)?;
        let mut looks = vec![first];
        let mut later = Vec::new();
        while self.pages() > 1 && missing > 0 {
            let ready;
            (ready, later) = self.read_notes(now, missing, &seen)?;
            if ready.is_empty() {
                break;
            }
            // Where one is missing, the first page that is looked at has it, as a rule.
            let at_once = if missing == 1 { 1 } else { PAGES_AT_ONCE };
            for ready in ready.chunks(at_once) {
                let new = self.look_at(ready, now, missing)?;
                self.write_notes(&new, now)?;
                seen.extend(ready);
                let found: usize = new.iter().map(|look| look.free.len()).sum();
                missing = missing.saturating_sub(found as u64);
                looks.extend(new);
                if missing == 0 {
                    break;
                }
            }
        }
        if missing == 0 {
            return Ok(Search::Enough(looks));
        }
        later.extend(looks.into_iter().flat_map(|look| look.ends));
        later.sort_unstable();
        // Of several pages only the first ends are known: enough will not have ended before that.
        let nth = if self.pages() == 1 { missing - 1 } else { 0 };
        let nth = usize::try_from(nth).unwrap_or(usize::MAX);
        Ok(Search::Later(
            later.get(nth).or(later.last()).copied().unwrap_or(now),
        ))
    }

    /// Some pages that may have what is missing, at random, and what the notes of others say.
    fn read_notes(
        &mut self,
        now: u64,
        missing: u64,
        seen: &BTreeSet<u64>,
    ) -> Result<(Vec<u64>, Vec<u64>), StoreError> {
        let limit = (seen.len() as u64).saturating_add(missing).max(CHOICE) + CHOICE;
        let notes = Range::Lowest(self.keys.note(0), self.keys.note(self.pages()), limit);
        let (_, found) = self.client.read(core::slice::from_ref(&notes))?;
        let mut found = found.into_iter().next().ok_or_else(not_understood)?;
        if found.count < self.pages() {
            self.begin_notes()?;
            let (_, again) = self.client.read(&[notes])?;
            found = again.into_iter().next().ok_or_else(not_understood)?;
        }
        let (mut ready, mut later) = (Vec::new(), Vec::new());
        for note in &found.kvs {
            let page = u64::from(node_of(&note.key).ok_or_else(not_understood)?);
            let tick = said(note)?;
            if seen.contains(&page) {
                continue;
            }
            if tick > now {
                later.push(tick);
            } else {
                ready.push(page);
            }
        }
        for at in (1..ready.len()).rev() {
            let other = usize::try_from(random()? % (at as u64 + 1)).unwrap_or(0);
            ready.swap(at, other);
        }
        Ok((ready, later))
    }

    /// Writes the notes that are not there: of all pages the lowest can be found then.
    fn begin_notes(&mut self) -> Result<(), StoreError> {
        let keys = Range::Keys(self.keys.note(0), self.keys.note(self.pages()));
        let (_, found) = self.client.read(&[keys])?;
        let found = found.first().ok_or_else(not_understood)?;
        let there: Option<BTreeSet<_>> = found.kvs.iter().map(|kv| node_of(&kv.key)).collect();
        let there = there.ok_or_else(not_understood)?;
        let missing = (0..self.pages())
            .filter(|&page| u32::try_from(page).is_ok_and(|page| !there.contains(&page)));
        let missing: Vec<_> = missing.map(|page| self.keys.note(page)).collect();
        for keys in missing.chunks(NOTES_AT_ONCE) {
            let mut write = Write::default();
            for key in keys {
                write.compare(key, 0).put(key, &note(NOTHING_KNOWN));
            }
            // Else another is doing it.
            self.write(&write)?;
        }
        Ok(())
    }

    fn look_at(&mut self, pages: &[u64], now: u64, wanted: u64) -> Result<Vec<Look>, StoreError> {
        let node_ids = self.namespace.node_ids();
        let pages = pages.iter().map(|&number| Page::at(number, node_ids));
        let ranges = pages
            .clone()
            .flat_map(|page| page.ranges(&self.keys, wanted));
        let ranges: Vec<_> = ranges.collect();
        let (_, found) = self.client.read(&ranges)?;
        let (found, _) = found.as_chunks();
        let looks = pages.zip(found);
        looks
            .map(|(page, [note, leases])| page.look(note, leases, now, wanted))
            .collect()
    }

    /// Notes the pages that have none left, unless somebody has written about them meanwhile.
    fn write_notes(&mut self, looks: &[Look], now: u64) -> Result<(), StoreError> {
        let mut write = Write::default();
        let full = looks.iter().filter(|look| look.note() != NOTHING_KNOWN);
        for look in full.filter(|look| look.noted <= now) {
            let key = self.keys.note(look.page.number);
            write
                .compare(&key, look.revision)
                .put(&key, &note(look.note()));
        }
        if self.pages() > 1 && !write.is_empty() {
            self.write(&write)?;
        }
        Ok(())
    }

    /// Writes notes anew, by what is so now; of pages that have a free node id again they are cleared.
    pub(super) fn renew_notes(&mut self, pages: &[u64], now: u64) -> Result<(), StoreError> {
        for pages in pages.chunks(PAGES_AT_ONCE) {
            let mut write = Write::default();
            for look in self.look_at(pages, now, 1)? {
                let key = self.keys.note(look.page.number);
                write
                    .compare(&key, look.revision)
                    .put(&key, &note(look.note()));
            }
            self.write(&write)?;
        }
        Ok(())
    }
}

/// The notes that pages have once the chosen are taken until `end`: of those that have no other left.
pub(super) fn emptied(looks: &[Look], chosen: &[Free], end: u64) -> BTreeMap<u64, (u64, u64)> {
    let chosen: BTreeSet<_> = chosen.iter().map(|free| free.node_id).collect();
    let is_emptied = |look: &&Look| {
        let mut free = look.free.iter();
        look.is_all && !look.free.is_empty() && free.all(|free| chosen.contains(&free.node_id))
    };
    let note = |look: &Look| {
        let soonest = look.ends.first().map_or(end, |&first| first.min(end));
        (look.page.number, (look.revision, soonest))
    };
    looks.iter().filter(is_emptied).map(note).collect()
}

/// The full pages whose notes are reached by a tick.
pub(super) fn reached(notes: &[Found], tick: u64) -> Result<Vec<u64>, StoreError> {
    let mut pages = Vec::new();
    for note in notes.iter().flat_map(|found| &found.kvs) {
        let until = said(note)?;
        if until != NOTHING_KNOWN && until <= tick {
            pages.push(u64::from(node_of(&note.key).ok_or_else(not_understood)?));
        }
    }
    Ok(pages)
}

/// What a note says.
fn said(note: &Kv) -> Result<u64, StoreError> {
    u64::from_str_radix(&note.value, 16).map_err(|_| not_understood())
}

/// A note that says it.
pub(super) fn note(tick: u64) -> String {
    format!("{tick:016x}")
}

fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(StoreError::unavailable)
}
