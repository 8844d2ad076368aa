//! Shared hints: some free node ids, and until when none is free.
//!
//! A client that ends a lease early puts the node id and its record into one of a few places; so does one that
//! found more free node ids than it needed. An acquire reads these places first and takes a node id from there
//! without reading its record: the conditional write decides. So a nearly full namespace is rarely searched, as
//! long as leases are released.
//!
//! A client that searched all of its node ids in vain notes until when none of their leases ends by itself. The note holds
//! while the places are unchanged, since each text there has a nonce; so a client that releases a lease need not know
//! of it.

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};

use super::base36::{Base36, number};
use super::{Before, Entry, Key, Keys, NodeRecord};

/// Number of places for hints to node ids.
const PLACES: u32 = 8;
/// Number of places for notes of full ranges, behind those: a server and its clients, which look for node ids in different
/// ranges, should not overwrite each other's.
const FULL_PLACES: u32 = 8;
/// The place behind those, which nobody reads: a write of it is on the disk behind all that was read before.
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
        // A note about other hints than those that are there now is stale: something was released since.
        let state = self.state();
        let is_so = |full: &&Full| {
            // A note of a wider range holds for each part of it.
            full.state == state && full.range.0 <= range.0 && range.1 <= full.range.1
        };
        self.full.iter().filter(is_so).map(|full| full.until).max()
    }

    /// Entries after a search of a range in vain: the tick until which nothing of it is free, without the hints that were
    /// wrong. They must not be written if a hint changed meanwhile.
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
        let spare = spare.take(PLACES as usize);
        let spare = spare.map(|(node_id, text)| left(node_id, text, nonce));
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

/// Entry that makes a write of what else would only be compared. Each has its own nonce: an engine may skip a text that is
/// there already.
pub(crate) fn confirmation(nonce: u64) -> Entry {
    put(UNREAD_PLACE, Base36(nonce.into()))
}

fn left(node_id: u32, text: Option<String>, nonce: u64) -> (u32, Hint) {
    let node = Some((node_id, text));
    // The place follows from the node id, so that two clients rarely overwrite each other and need not read first.
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
