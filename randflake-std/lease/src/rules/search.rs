//! The search for free node ids, and the hints that shorten it.
//!
//! A few adjacent node ids at a random place are looked at first, which is enough up to high
//! occupancy; and with them the [`Hints`], which lead to what others have released, or say that all
//! is leased. Otherwise the search goes on from there and around, in longer and longer reads, until
//! enough is found or all was looked at. A wrong hint costs another try or a wait, and never an id.
//!
//! A client that ends a lease early puts the node id and its record into one of a few places; so
//! does one that found more free node ids than it needed. An acquire reads these places first and
//! takes a node id from there without reading its record: the conditional write decides. So a
//! nearly full namespace is rarely searched, as long as leases are released.
//!
//! A client that searched all of its node ids in vain notes until when none of their leases ends by
//! itself. The note holds while the places are unchanged, since each text there has a nonce; so a
//! client that releases a lease need not know of it.

use core::fmt::Display;
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};

use super::keys::{Base36, number};
use super::{Before, Change, Entry, Key, Keys, NodeRecord, Observed};

/// A namespace of so many node ids, or fewer, is read as a whole and has no hints.
const SMALL: u64 = 256;
/// Node ids of the reads of one search, the last length again and again. 16 are a short read, and
/// one of them is free in four cases of five at 90 % occupancy; of 512 one is in 99 of 100 cases at
/// 99 % occupancy, so that a third read is rare up to there. 4,096 are what engines read as one
/// piece: 600 kB.
const READS: [u64; 3] = [16, 512, 4_096];

type Texts = BTreeMap<Key, String>;

/// A search for free node ids, and what it has found.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    max_node_id: u32,
    /// First and last node id that are looked at.
    within: (u32, u32),
    /// Node id that is looked at first.
    start: u32,
    /// Node id from which on free ones are chosen, around the end of the range.
    chosen_from: u32,
    /// Number of node ids that were looked at, counted from the first one on and around to it.
    looked_at: u64,
    /// Number of reads of them.
    reads: usize,
    wanted: usize,
    /// Number of free node ids that are left out, if there are more than enough.
    skipped: usize,
    /// Tick at which a node id must be free.
    now: u64,
    /// Node ids that are free, but for those that are known already, with their texts.
    free: BTreeMap<u32, Option<String>>,
    known: BTreeSet<u32>,
    hints: Hints,
    /// Node ids that only a hint calls free.
    hinted: BTreeSet<u32>,
    /// Ends of live leases.
    ends: Vec<u64>,
}

impl Search {
    /// Searches for so many node ids within the first and the last one given, not counting those
    /// that are known already; two random numbers say where it begins, and how many it skips of
    /// those that are free.
    pub(crate) fn new(
        max_node_id: u32,
        within: (u32, u32),
        wanted: usize,
        known: &[u32],
        random: [u32; 2],
    ) -> Self {
        // The range of an engine may be wider than the layout.
        let last = within.1.min(max_node_id);
        let within = (within.0.min(last), last);
        let mut search = Self {
            max_node_id,
            within,
            start: within.0,
            chosen_from: within.0,
            looked_at: 0,
            reads: 0,
            wanted,
            skipped: random[1] as usize,
            now: 0,
            free: BTreeMap::new(),
            known: known.iter().copied().collect(),
            hints: Hints::default(),
            hinted: BTreeSet::new(),
            ends: Vec::new(),
        };
        search.chosen_from = search.at(random[0].into());
        // A small namespace is one read, wherever that begins.
        if !search.is_small() {
            search.start = search.chosen_from;
        }
        search
    }

    /// Number of node ids that may be looked at.
    fn width(&self) -> u64 {
        u64::from(self.within.1 - self.within.0) + 1
    }

    fn is_small(&self) -> bool {
        is_small(self.max_node_id)
    }

    /// The node id so many places after the first one, around the end of the range.
    fn at(&self, place: u64) -> u32 {
        let from_start = u64::from(self.start - self.within.0) + place;
        let offset = u32::try_from(from_start % self.width());
        self.within.0 + offset.unwrap_or_default()
    }

    /// Number of node ids still to be found.
    pub(crate) fn missing(&self) -> usize {
        self.wanted.saturating_sub(self.free.len())
    }

    /// Keys of the next read; `None` if enough was found, or there is no more.
    pub(crate) fn next_keys(&self) -> Option<Vec<Keys>> {
        let left = self.width() - self.looked_at;
        if self.missing() == 0 || self.is_full() || left == 0 {
            return None;
        }
        let mut keys: Vec<_> = self.next_nodes().map(Keys::Nodes).collect();
        // With the first read, so that they cost no round trip.
        if self.reads == 0 && !self.is_small() {
            keys.push(Hints::keys());
        }
        Some(keys)
    }

    /// Node ids of the next read, in two parts where it goes around the end of the range.
    fn next_nodes(&self) -> impl Iterator<Item = RangeInclusive<u32>> + use<> {
        let left = self.width() - self.looked_at;
        let len = match self.reads {
            _ if self.is_small() => left,
            // A client that wants many should not read them in small parts.
            0 => READS[0],
            read => READS[read.min(READS.len() - 1)]
                .max(self.missing() as u64)
                .min(READS[2]),
        };
        let (first, last) = (
            self.at(self.looked_at),
            self.at(self.looked_at + len.min(left) - 1),
        );
        let parts = if first <= last {
            [Some(first..=last), None]
        } else {
            [Some(first..=self.within.1), Some(self.within.0..=last)]
        };
        parts.into_iter().flatten()
    }

    /// Takes the first read, at a tick. Hints to node ids are not followed that are `doubted`, or
    /// that this process has leased.
    pub(crate) fn take_first(
        &mut self,
        texts: &Texts,
        now: u64,
        doubted: &BTreeSet<u32>,
        seen: Option<&Observed>,
    ) {
        self.now = now;
        // Before `take_next`, which goes on to the next read.
        let window: Vec<_> = self.next_nodes().collect();
        self.take_next(texts);
        self.hints = Hints::read(texts);
        // Hints are followed only when the window has too few: a hint that several clients follow
        // makes all but one try again.
        if self.missing() == 0 || self.is_full() {
            return;
        }
        let is_free = |text: Option<&str>| {
            text.is_none_or(|text| NodeRecord::end_of(text).is_some_and(|end| end <= now))
        };
        let is_leased = |node_id| seen.is_some_and(|seen| seen.end_of(node_id) > now);
        for (node_id, text) in self.hints.nodes() {
            // What was read just now is known better than by a hint.
            let is_looked_at = window.iter().any(|nodes| nodes.contains(&node_id));
            let is_wrong = is_looked_at
                || self.known.contains(&node_id)
                || doubted.contains(&node_id)
                || is_leased(node_id);
            // Clients with other ranges share the hints.
            let is_within = (self.within.0..=self.within.1).contains(&node_id);
            if !is_wrong && is_within && is_free(text) {
                self.free.insert(node_id, text.map(str::to_owned));
                self.hinted.insert(node_id);
            }
        }
    }

    /// Takes the records of the next read.
    pub(crate) fn take_next(&mut self, texts: &Texts) {
        for nodes in self.next_nodes() {
            self.looked_at += nodes.clone().count() as u64;
            for node_id in nodes {
                let text = texts.get(&Key::Node(node_id));
                // What is read is known better than by a hint.
                self.hinted.remove(&node_id);
                self.free.remove(&node_id);
                // One that is not understood is taken, and then refused by name.
                match text.and_then(|text| NodeRecord::end_of(text)) {
                    Some(end) if end > self.now => self.ends.push(end),
                    _ if self.known.contains(&node_id) => {}
                    _ => _ = self.free.insert(node_id, text.cloned()),
                }
            }
        }
        self.reads += 1;
    }

    /// Whether all is leased, as somebody has found before.
    fn is_full(&self) -> bool {
        self.full_until().is_some()
    }

    fn full_until(&self) -> Option<u64> {
        let until = self.hints.full_until(self.within);
        until.filter(|until| *until > self.now)
    }

    /// Of those chosen, the ones that only a hint calls free.
    pub(crate) fn hinted(&self) -> impl Iterator<Item = u32> {
        let chosen = self.chosen().map(|(node_id, _)| node_id);
        chosen.filter(|node_id| self.hinted.contains(node_id))
    }

    /// As many as are wanted of those found, from where the search began on, or later: clients that
    /// see the same free node ids should not all take the first.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (u32, Option<&str>)> {
        let spare = self.free.len().saturating_sub(self.wanted);
        // No more are skipped than can be spared, so enough are left.
        let skipped = self.skipped % (spare + 1);
        let (from, before) = (self.chosen_from.., ..self.chosen_from);
        let free = self.free.range(from).chain(self.free.range(before));
        let chosen = free.skip(skipped).take(self.wanted);
        chosen.map(|(node_id, text)| (*node_id, text.as_deref()))
    }

    /// The first tick at which as many may be free as are wanted; `None` if enough are.
    pub(crate) fn free_from(&self) -> Option<u64> {
        let missing = self.missing().checked_sub(1)?;
        let mut ends = self.ends.clone();
        ends.sort_unstable();
        // As many leases must end as node ids are missing; `last` if fewer ends were seen.
        self.full_until()
            .or_else(|| ends.get(missing).or(ends.last()).copied())
    }

    /// The hints that change when some node ids are taken: those that lead to them, or in vain; and
    /// if a search was needed, it leaves what else it has found.
    pub(crate) fn changed_hints(&self, is_gone: impl Fn(u32) -> bool, nonce: u64) -> Vec<Entry> {
        // Only after a search: what the first two reads have found, any client finds as fast.
        let is_searched = self.reads > 2;
        let spare = self
            .free
            .iter()
            .filter(|_| is_searched)
            .filter(|(node_id, _)| !is_gone(**node_id))
            .map(|(node_id, text)| (*node_id, text.clone()));
        self.hints.changed(&is_gone, spare, nonce).collect()
    }

    /// What is to be written after a search in vain, which has looked at all, so that the next one
    /// is spared; hints to some node ids were wrong.
    pub(crate) fn full_hint(&self, doubted: &BTreeSet<u32>, nonce: u64) -> Vec<Entry> {
        // `free` leaves out known node ids: with some, it may be empty although not all are leased.
        let is_all = self.known.is_empty() && self.free.is_empty();
        let is_new = is_all && !self.is_small() && !self.is_full();
        // The first lease to end: until then nothing becomes free by itself.
        let until = self.ends.iter().min().filter(|_| is_new);
        until.map_or_else(Vec::new, |until| {
            let hints = self.hints.clone();
            hints.full(*until, self.within, doubted, nonce)
        })
    }
}

/// Hints that a change leaves where it ends leases early.
pub(crate) fn freed(max_node_id: u32, change: &Change) -> Vec<Entry> {
    if is_small(max_node_id) {
        return Vec::new();
    }
    // A lease that ends as it was granted is what everybody expects.
    let freed = change.nodes.iter().filter_map(|node| {
        node.before
            .as_ref()
            .is_some_and(|before: &NodeRecord| node.after.end < before.end)
            .then_some(&node.after)
    });
    released(freed)
}

fn is_small(max_node_id: u32) -> bool {
    u64::from(max_node_id) < SMALL
}

/// Number of places for hints to node ids.
const PLACES: u32 = 8;
/// Number of places for notes of full ranges, behind those: a server and its clients, which look
/// for node ids in different ranges, should not overwrite each other's.
const FULL_PLACES: u32 = 8;
/// The place behind those, which nobody reads: a write of it is on the disk behind all that was
/// read before.
const UNREAD_PLACE: u32 = PLACES + FULL_PLACES;

/// Hint at one place.
#[derive(Clone, Debug)]
struct Hint {
    nonce: u64,
    /// A node id, and the text of its record if it has one.
    node: Option<(u32, Option<String>)>,
}

/// All hints of a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    places: BTreeMap<u32, Hint>,
    full: Vec<Full>,
}

/// Note that a range of node ids is leased.
#[derive(Clone, Copy, Debug)]
struct Full {
    /// Tick until which no node id becomes free by itself.
    until: u64,
    /// [`Hints::state`] when the search ended.
    state: u64,
    /// First and last node id of the range.
    range: (u32, u32),
}

impl Hints {
    pub(super) fn keys() -> Keys {
        Keys::Hints(0..=PLACES + FULL_PLACES - 1)
    }

    /// Reads hints; a text that is not understood is ignored.
    pub(super) fn read(texts: &BTreeMap<Key, String>) -> Self {
        let mut hints = Self::default();
        for (key, text) in texts {
            match key {
                Key::Hint(place) if *place >= PLACES => hints.full.extend(Full::read(text)),
                Key::Hint(place) => {
                    let hint = Hint::read(text);
                    hints.places.extend(hint.map(|hint| (*place, hint)));
                }
                _ => {}
            }
        }
        hints
    }

    /// Node ids that were free, with the texts of their records.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u32, Option<&str>)> {
        let left = self.places.values().filter_map(|hint| hint.node.as_ref());
        left.map(|(node_id, text)| (*node_id, text.as_deref()))
    }

    /// Tick until which no node id of a range becomes free by itself, if known.
    pub(super) fn full_until(&self, range: (u32, u32)) -> Option<u64> {
        // A note about other hints than those that are there now is stale: something was released
        // since.
        let state = self.state();
        let is_so = |full: &&Full| {
            // A note of a wider range holds for each part of it.
            full.state == state && full.range.0 <= range.0 && range.1 <= full.range.1
        };
        self.full.iter().filter(is_so).map(|full| full.until).max()
    }

    /// Entries after a search of a range in vain: the tick until which nothing of it is free,
    /// without the hints that were wrong. They must not be written if a hint changed meanwhile.
    pub(super) fn full(
        mut self,
        until: u64,
        range: (u32, u32),
        gone: &BTreeSet<u32>,
        nonce: u64,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (place, hint) in &mut self.places {
            if hint.leads_to(|node_id| gone.contains(&node_id)) {
                // Conditional: another client may have put a node id there meanwhile.
                let before = Before::Text(hint.text());
                *hint = Hint { nonce, node: None };
                let after = Some(hint.text());
                let key = Key::Hint(*place);
                entries.push(Entry { key, before, after });
            }
        }
        // Only now: the note is for the places as this write leaves them, emptied hints included.
        let state = self.state();
        let full = Full {
            until,
            state,
            range,
        };
        // Unconditional: if another hint changes meanwhile, the sums differ, and the note is void.
        entries.push(put(full.place(), full.text()));
        entries
    }

    /// Checksum of the places. Every change has its own nonce, so it differs after each.
    fn state(&self) -> u64 {
        let nonces = self.places.values().map(|hint| hint.nonce);
        // A sum, so that the order of the places does not matter.
        nonces.fold(0, u64::wrapping_add)
    }

    /// Entries that go with a change: `gone` node ids are not free any more, some others are.
    pub(super) fn changed(
        &self,
        gone: impl Fn(u32) -> bool,
        spare: impl Iterator<Item = (u32, Option<String>)>,
        nonce: u64,
    ) -> impl Iterator<Item = Entry> {
        let gone = self.places.iter().filter(|(_, hint)| hint.leads_to(&gone));
        // Emptied, not removed: the nonce shows that something has changed here.
        let gone = gone.map(|(place, _)| (*place, Hint { nonce, node: None }));
        let spare = spare
            .take(PLACES as usize)
            .map(|(node_id, text)| left(node_id, text, nonce));
        // A place is written once: what was found takes that of what is gone.
        let hints: BTreeMap<_, _> = gone.chain(spare).collect();
        hints
            .into_iter()
            .map(|(place, hint)| put(place, hint.text()))
    }
}

/// Entries that go with releases.
pub(super) fn released<'r>(records: impl Iterator<Item = &'r NodeRecord>) -> Vec<Entry> {
    // The very text that the release writes: an acquire by this hint compares it.
    let left = records.map(|record| left(record.node_id, Some(record.to_text()), record.nonce));
    let hints: BTreeMap<_, _> = left.collect();
    let entries = hints
        .into_iter()
        .map(|(place, hint)| put(place, hint.text()));
    entries.collect()
}

/// Entry that makes a write of what else would only be compared. Each has its own nonce: an engine
/// may skip a text that is there already.
pub(crate) fn confirmation(nonce: u64) -> Entry {
    put(UNREAD_PLACE, Base36(nonce.into()))
}

fn left(node_id: u32, text: Option<String>, nonce: u64) -> (u32, Hint) {
    let node = Some((node_id, text));
    // The place follows from the node id, so that two clients rarely overwrite each other and need
    // not read first.
    (node_id % PLACES, Hint { nonce, node })
}

fn put(place: u32, text: impl Display) -> Entry {
    Entry {
        key: Key::Hint(place),
        // Unconditional: a lost hint costs a search, a failed write would cost the lease.
        before: Before::Anything,
        after: Some(text.to_string()),
    }
}

impl Full {
    fn place(&self) -> u32 {
        // Each range has one place, so that its next note replaces this one.
        PLACES + (self.range.0 ^ self.range.1) % FULL_PLACES
    }

    fn text(&self) -> String {
        let [until, state] = [self.until, self.state].map(|it| Base36(it.into()));
        let (first, last) = self.range;
        format!("{until}:{state}:{first}:{last}")
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        Some(Self {
            until: number(parts.next()?)?,
            state: number(parts.next()?)?,
            range: (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?),
        })
    }
}

impl Hint {
    /// The nonce; and the node id and its record's text, if one is left.
    fn text(&self) -> String {
        let nonce = Base36(self.nonce.into());
        match &self.node {
            None => nonce.to_string(),
            Some((node_id, text)) => {
                format!("{nonce}:{node_id}:{}", text.as_deref().unwrap_or_default())
            }
        }
    }

    fn leads_to(&self, any: impl Fn(u32) -> bool) -> bool {
        let node = self.node.as_ref();
        node.is_some_and(|(node_id, _)| any(*node_id))
    }

    fn read(text: &str) -> Option<Self> {
        // The text of a record has colons too, so it is all that follows the second one.
        let mut parts = text.splitn(3, ':');
        let nonce = number(parts.next()?)?;
        let node = match (parts.next(), parts.next()) {
            (Some(node_id), Some(text)) => {
                // Without a text, the node id was never leased, and the write expects no record.
                let text = Some(text.to_owned()).filter(|text| !text.is_empty());
                Some((node_id.parse().ok()?, text))
            }
            _ => None,
        };
        Some(Self { nonce, node })
    }
}
