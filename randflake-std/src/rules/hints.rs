//! Hints that all clients share: some node ids that are free, and until when none is.
//!
//! Who ends a lease early leaves the node id and its record at one of a few places, and so does who has found more free
//! ones than wanted. Who acquires reads these places at first, and takes a node id from there without a look at its
//! record: the write decides. So nearly all occupied is searched by nobody, as long as leases are released.
//!
//! Who has searched all in vain notes until when no lease ends by itself. That holds while nothing else was left at the
//! places, as each text there has a nonce; so whoever ends a lease early need not know of it.

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};

use super::base36::{Base36, number};
use super::{Before, Entry, Key, Keys, NodeRecord};

/// Where node ids are left.
const PLACES: u32 = 8;

/// What is left at one place.
#[derive(Clone, Debug)]
struct Hint {
    nonce: u64,
    /// A node id, and the text of its record if it has one.
    node: Option<(u32, Option<String>)>,
}

/// All that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    places: BTreeMap<u32, Hint>,
    full: Option<String>,
}

impl Hints {
    pub(super) fn keys() -> Keys {
        Keys::Hints(0..=PLACES)
    }

    /// What is not understood counts for nothing.
    pub(super) fn read(texts: &BTreeMap<Key, String>) -> Self {
        let mut hints = Self::default();
        for (key, text) in texts {
            match key {
                Key::Hint(PLACES) => hints.full = Some(text.clone()),
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

    /// Until when none is free, if that is known.
    pub(super) fn full_until(&self) -> Option<u64> {
        let (until, state) = self.full.as_deref()?.split_once(':')?;
        (number(state)? == self.state()).then(|| number(until))?
    }

    /// What is written after a search in vain: until when none is free by itself, and what has led nowhere is gone. If
    /// something else is left there meanwhile, it must not be written.
    pub(super) fn full(mut self, until: u64, gone: &BTreeSet<u32>, nonce: u64) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (place, hint) in &mut self.places {
            if hint.leads_to(|node_id| gone.contains(&node_id)) {
                let before = Before::Text(hint.text());
                *hint = Hint { nonce, node: None };
                let after = Some(hint.text());
                let key = Key::Hint(*place);
                entries.push(Entry { key, before, after });
            }
        }
        let state = Base36(self.state().into());
        entries.push(put(PLACES, format!("{}:{state}", Base36(until.into()))));
        entries
    }

    /// Which texts are at the places. No two changes have one nonce, so that this sum is another after each.
    fn state(&self) -> u64 {
        let nonces = self.places.values().map(|hint| hint.nonce);
        nonces.fold(0, u64::wrapping_add)
    }

    /// What is written with a change: node ids that are `gone` are not free any more, and some others are.
    pub(super) fn changed(
        &self,
        gone: impl Fn(u32) -> bool,
        spare: impl Iterator<Item = (u32, Option<String>)>,
        nonce: u64,
    ) -> impl Iterator<Item = Entry> {
        let gone = self.places.iter().filter(|(_, hint)| hint.leads_to(&gone));
        let gone = gone.map(|(place, _)| (*place, Hint { nonce, node: None }));
        let spare = spare.take(PLACES as usize);
        let spare = spare.map(|(node_id, text)| left(node_id, text, nonce));
        let hints: BTreeMap<_, _> = gone.chain(spare).collect();
        hints
            .into_iter()
            .map(|(place, hint)| put(place, hint.text()))
    }
}

/// What is written with releases.
pub(super) fn released<'r>(records: impl Iterator<Item = &'r NodeRecord>) -> Vec<Entry> {
    let left = records.map(|record| left(record.node_id, Some(record.to_text()), record.nonce));
    let hints: BTreeMap<_, _> = left.collect();
    let entries = hints
        .into_iter()
        .map(|(place, hint)| put(place, hint.text()));
    entries.collect()
}

fn left(node_id: u32, text: Option<String>, nonce: u64) -> (u32, Hint) {
    let node = Some((node_id, text));
    (node_id % PLACES, Hint { nonce, node })
}

fn put(place: u32, text: impl Display) -> Entry {
    Entry {
        key: Key::Hint(place),
        before: Before::Anything,
        after: Some(text.to_string()),
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
        let mut parts = text.splitn(3, ':');
        let nonce = number(parts.next()?)?;
        let node = match (parts.next(), parts.next()) {
            (Some(node_id), Some(text)) => {
                let text = Some(text.to_owned()).filter(|text| !text.is_empty());
                Some((node_id.parse().ok()?, text))
            }
            _ => None,
        };
        Some(Self { nonce, node })
    }
}
