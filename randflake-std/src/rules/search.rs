//! Search for free node ids, guided by hints.
//!
//! First some adjacent node ids are looked at, at a random place, which is enough up to high occupancy; and with them
//! the [`Hints`], which lead to what others have released, or say that all is leased.
//!
//! Else pages of 64 adjacent node ids are looked at, one at first, then more and more at a time. A page may have a note:
//! the tick before which none of its node ids is free. Who finds a page full notes it; who ends a lease early clears its
//! page's note, so that nobody notes what was so before.
//!
//! All of this is a hint: a wrong one costs another try or a wait, and never an id.

use core::ops::{Range, RangeInclusive};
use std::collections::{BTreeMap, BTreeSet};

use super::base36::{self, Base36};
use super::hints::{self, Hints};
use super::{Before, Change, Entry, Key, Keys, NodeRecord, Observed};

/// Number of node ids per page.
const PAGE: u32 = 64;
/// A namespace of so many pages is read as a whole, and has no notes.
const SMALL: u32 = 4;
/// Adjacent node ids that are looked at first.
const WINDOW: u32 = 16;
/// Pages whose notes are read with the first page; and with each further read.
pub(crate) const SPANS: [u32; 2] = [64, 1_024];
/// Whole pages that are looked at together: at first, and at most. One that was cleared has a free one, as a rule.
pub(crate) const LOOKS: [usize; 2] = [1, 64];

type Texts = BTreeMap<Key, String>;

/// A search for free node ids, and what it has found.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The first page that is looked at, and how many there are from it on.
    from: u32,
    pages: u32,
    /// All node ids of the namespace are at or below it.
    max_node_id: u32,
    /// The first and the last node id that are looked at.
    within: (u32, u32),
    wanted: usize,
    /// Where it begins: a page, and a place in it.
    first: (u32, u32),
    /// What is free at this tick.
    now: u64,
    /// Node ids that are free, but for those that are known already, with their texts.
    free: BTreeMap<u32, Option<String>>,
    known: BTreeSet<u32>,
    hints: Hints,
    /// Node ids that only a hint calls free.
    hinted: BTreeSet<u32>,
    /// What notes say, by page.
    notes: BTreeMap<u32, String>,
    /// The ends of live leases, of each page that was looked at as a whole.
    ends: BTreeMap<u32, Vec<u64>>,
}

impl Search {
    /// For so many node ids, not counting those that are known already; two random numbers say where it begins. Only those
    /// within the first and the last one given are looked at.
    pub(crate) fn new(
        max_node_id: u32,
        within: (u32, u32),
        wanted: usize,
        known: &[u32],
        random: [u32; 2],
    ) -> Self {
        let last = within.1.min(max_node_id);
        let within = (within.0.min(last), last);
        // Pages are those of the whole namespace, so that clients with different ranges share notes.
        let from = within.0 / PAGE;
        let pages = last / PAGE - from + 1;
        Self {
            from,
            pages,
            max_node_id,
            within,
            wanted,
            first: (from + random[0] % pages, random[1] % PAGE),
            now: 0,
            free: BTreeMap::new(),
            known: known.iter().copied().collect(),
            hints: Hints::default(),
            hinted: BTreeSet::new(),
            notes: BTreeMap::new(),
            ends: BTreeMap::new(),
        }
    }

    /// Number of pages of the namespace.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    pub(crate) fn is_small(&self) -> bool {
        self.pages <= SMALL
    }

    /// The node ids of a page that may be granted.
    fn nodes(&self, page: u32) -> RangeInclusive<u32> {
        let whole = self.whole(page);
        (*whole.start()).max(self.within.0)..=(*whole.end()).min(self.within.1)
    }

    fn whole(&self, page: u32) -> RangeInclusive<u32> {
        let first = page * PAGE;
        first..=(first + (PAGE - 1)).min(self.max_node_id)
    }

    /// Whether it looks at all node ids: else it does not know that all are leased.
    fn is_of_all(&self) -> bool {
        self.within == (0, self.max_node_id)
    }

    /// Number of node ids still to be found.
    pub(crate) fn missing(&self) -> usize {
        self.wanted.saturating_sub(self.free.len())
    }

    /// Keys of the first read.
    pub(crate) fn first_keys(&self) -> Vec<Keys> {
        if self.is_small() {
            return vec![Keys::Nodes(self.within.0..=self.within.1)];
        }
        vec![Hints::keys(), Keys::Nodes(self.window())]
    }

    fn window(&self) -> RangeInclusive<u32> {
        let nodes = self.nodes(self.first.0);
        let first = nodes.start() + self.first.1 / WINDOW * WINDOW;
        first.min(*nodes.end())..=(first + (WINDOW - 1)).min(*nodes.end())
    }

    /// Takes what is there of `first_keys`, at a tick. Hints to node ids are not followed that are `doubted`, or that
    /// this process has leased.
    pub(crate) fn take_first(
        &mut self,
        texts: &Texts,
        now: u64,
        doubted: &BTreeSet<u32>,
        seen: Option<&Observed>,
    ) {
        self.now = now;
        if self.is_small() {
            let pages = self.from..self.from + self.pages;
            return pages
                .into_iter()
                .for_each(|page| self.take_page(page, texts));
        }
        let window = self.window();
        self.take(window.clone(), texts);
        self.hints = Hints::read(texts);
        // Hints are followed only when the window has too few: a hint that several clients follow makes all but one
        // try again.
        if self.missing() == 0 || self.is_full() {
            return;
        }
        let is_free = |text: Option<&str>| {
            text.is_none_or(|text| NodeRecord::end_of(text).is_some_and(|end| end <= now))
        };
        let is_leased = |node_id| seen.is_some_and(|seen| seen.end_of(node_id) > now);
        for (node_id, text) in self.hints.nodes() {
            // What was read just now is known better than by a hint.
            let is_looked_at = window.contains(&node_id) || self.known.contains(&node_id);
            let is_wrong = is_looked_at || doubted.contains(&node_id) || is_leased(node_id);
            let is_within = (self.within.0..=self.within.1).contains(&node_id);
            if !is_wrong && is_within && is_free(text) {
                self.free.insert(node_id, text.map(str::to_owned));
                self.hinted.insert(node_id);
            }
        }
    }

    /// Whether all is leased, as somebody has found before.
    pub(crate) fn is_full(&self) -> bool {
        self.full_until().is_some()
    }

    fn full_until(&self) -> Option<u64> {
        self.hints.full_until().filter(|until| *until > self.now)
    }

    /// Of those chosen, the ones that only a hint calls free.
    pub(crate) fn hinted(&self) -> impl Iterator<Item = u32> {
        let chosen = self.chosen().map(|(node_id, _)| node_id);
        chosen.filter(|node_id| self.hinted.contains(node_id))
    }

    /// The notes of pages, which are counted from the first one on and around to it.
    pub(crate) fn note_keys(&self, places: Range<u32>) -> Vec<Keys> {
        let (first, last) = (self.page_at(places.start), self.page_at(places.end - 1));
        // The range may wrap around the end of the namespace, which takes two reads.
        if first <= last {
            return vec![Keys::Pages(first..=last)];
        }
        let end = self.from + (self.pages - 1);
        vec![Keys::Pages(first..=end), Keys::Pages(self.from..=last)]
    }

    fn page_at(&self, place: u32) -> u32 {
        // All are below 2^26.
        self.from + (self.first.0 - self.from + place) % self.pages
    }

    /// Takes the notes among some texts.
    pub(crate) fn take_notes(&mut self, texts: &Texts) {
        for (key, text) in texts {
            if let Key::Page(page) = key {
                self.notes.insert(*page, text.clone());
            }
        }
    }

    /// Pages of which a node id may be free, as far as notes tell: first those that were cleared, last those whose
    /// tick has come, as leases are renewed as a rule.
    pub(crate) fn ready(&self, places: Range<u32>) -> Vec<u32> {
        let mut ready: Vec<_> = places
            .map(|place| self.page_at(place))
            .filter(|page| !self.ends.contains_key(page) && self.noted(*page) <= self.now)
            .collect();
        // Cleared pages first: somebody has just released there. Pages whose tick has come last: their leases were
        // probably renewed.
        ready.sort_by_key(|page| match self.notes.get(page) {
            Some(note) if said(note) == 0 => 0,
            None => 1,
            Some(_) => 2,
        });
        ready
    }

    fn noted(&self, page: u32) -> u64 {
        self.notes.get(&page).map_or(0, |note| said(note))
    }

    /// Page where the search begins.
    pub(crate) fn first_page(&self) -> u32 {
        self.first.0
    }

    /// All node ids of some pages.
    pub(crate) fn page_keys(&self, pages: &[u32]) -> Vec<Keys> {
        let nodes = pages.iter().map(|page| self.nodes(*page));
        nodes.map(Keys::Nodes).collect()
    }

    /// Takes the records read of a page.
    pub(crate) fn take_page(&mut self, page: u32, texts: &Texts) {
        let mut ends = self.take(self.nodes(page), texts);
        ends.sort_unstable();
        self.ends.insert(page, ends);
    }

    /// Takes node ids; gives the ends of those that are not free.
    fn take(&mut self, node_ids: RangeInclusive<u32>, texts: &Texts) -> Vec<u64> {
        let mut ends = Vec::new();
        for node_id in node_ids {
            let text = texts.get(&Key::Node(node_id));
            // One that is not understood is taken, and then refused by name.
            match text.and_then(|text| NodeRecord::end_of(text)) {
                Some(end) if end > self.now => ends.push(end),
                _ if self.known.contains(&node_id) => {}
                _ => _ = self.free.insert(node_id, text.cloned()),
            }
        }
        ends
    }

    /// As many as are wanted of those found, from a random one on.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (u32, Option<&str>)> {
        let spare = self.free.len().saturating_sub(self.wanted);
        // From a random one on: clients that see the same free node ids should not all take the first.
        let skipped = self.first.1 as usize % (spare + 1);
        let chosen = self.free.iter().skip(skipped).take(self.wanted);
        chosen.map(|(node_id, text)| (*node_id, text.as_deref()))
    }

    /// The first tick at which as many may be free as are wanted.
    pub(crate) fn free_from(&self) -> Option<u64> {
        let missing = self.missing().checked_sub(1)?;
        if self.full_until().is_some() {
            return self.full_until();
        }
        let ends = self.ends.values().flatten().copied();
        let noted = self.notes.values().map(|note| said(note));
        let mut later: Vec<_> = ends.chain(noted).filter(|tick| *tick > self.now).collect();
        later.sort_unstable();
        // A note tells of one node id of its page, not of the others.
        let place = if self.is_small() { missing } else { 0 };
        later.get(place).or(later.last()).copied()
    }

    /// What is to be written when some node ids are taken, each until a tick: the notes of pages that are full then, and
    /// hints.
    pub(crate) fn notes(&self, taken: &BTreeMap<u32, u64>, nonce: u64) -> Vec<Entry> {
        if self.is_small() {
            return Vec::new();
        }
        // Of a page whose other node ids were not looked at, nothing is known.
        let is_whole = |page: &u32| self.nodes(*page) == self.whole(*page);
        let looked_at = self.ends.iter().filter(|(page, _)| is_whole(page));
        let full = looked_at.filter_map(|(page, ends)| {
            let free = self
                .free
                .range(self.nodes(*page))
                .map(|(node_id, _)| node_id);
            let until = free
                .map(|node_id| taken.get(node_id))
                .collect::<Option<Vec<_>>>()?;
            let until = until.into_iter().chain(ends.first()).min().copied()?;
            (until > self.noted(*page)).then(|| Entry {
                key: Key::Page(*page),
                before: Before::read(self.notes.get(page).cloned()),
                after: Some(note(until, nonce)),
            })
        });
        full.collect()
    }

    /// The hints that change when some node ids are taken: those that lead to them, or in vain; and if a search was
    /// needed, it leaves what else it has found.
    pub(crate) fn changed_hints(&self, is_gone: impl Fn(u32) -> bool, nonce: u64) -> Vec<Entry> {
        // Only after a search: what one window has found, any client finds as fast.
        let is_searched = self.ends.len() > 1 && !self.is_small();
        let spare = self.free.iter().filter(|_| is_searched);
        let spare = spare.filter(|(node_id, _)| !is_gone(**node_id));
        let spare = spare.map(|(node_id, text)| (*node_id, text.clone()));
        self.hints.changed(&is_gone, spare, nonce).collect()
    }

    /// What is to be written after a search in vain, so that the next one is spared; hints to some node ids were wrong.
    pub(crate) fn full_hint(&self, doubted: &BTreeSet<u32>, nonce: u64) -> Vec<Entry> {
        let is_full = self.free.is_empty() && self.known.is_empty() && !self.is_small();
        let is_full = is_full && self.is_of_all();
        let until = self.free_from().filter(|_| is_full);
        until.map_or_else(Vec::new, |until| {
            self.hints.clone().full(until, doubted, nonce)
        })
    }
}

/// Where a change ends leases early: the notes of their pages, cleared, and hints.
pub(crate) fn freed(max_node_id: u32, change: &Change, nonce: u64) -> Vec<Entry> {
    if max_node_id / PAGE < SMALL {
        return Vec::new();
    }
    // A lease that ends as it was granted is already in the notes.
    let is_early = |before: &NodeRecord, after: &NodeRecord| after.end < before.end;
    let freed = change.nodes.iter().filter(|node| {
        let before = node.before.as_ref();
        before.is_some_and(|before| is_early(before, &node.after))
    });
    let freed: Vec<_> = freed.map(|node| &node.after).collect();
    let pages: BTreeSet<_> = freed.iter().map(|after| after.node_id / PAGE).collect();
    let entries = pages.into_iter().map(|page| Entry {
        key: Key::Page(page),
        before: Before::Anything,
        after: Some(note(0, nonce)),
    });
    let hints = hints::released(freed.into_iter());
    hints.into_iter().chain(entries).collect()
}

/// A note, which no other equals.
fn note(tick: u64, nonce: u64) -> String {
    format!("{}:{}", Base36(tick.into()), Base36(nonce.into()))
}

/// The tick of a note; what is not understood counts for nothing.
fn said(note: &str) -> u64 {
    let (tick, _) = note.split_once(':').unwrap_or_default();
    base36::number(tick).unwrap_or(0)
}
