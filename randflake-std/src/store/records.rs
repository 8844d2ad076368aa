//! An engine's texts as records.

use core::fmt::{self, Debug, Formatter};
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::{Ask, Engine, Profile, Reading};
use crate::rules::history;
use crate::rules::search::{LOOKS, SPANS, Search, freed};
use crate::rules::{
    Before, Change, Committed, CounterRecord, CounterView, Entry, Key, Keys, NamespaceRecord, Node,
    NodeRecord, SecretClaim, VERSION, View, Wanted, Write,
};
use crate::vocabulary::{EngineError, Namespace, StoreError};

/// Records of one reply of a list.
const LISTED_AT_ONCE: usize = 4_096;
/// Notes of full pages that are written together with a lease.
const NOTES: usize = 16;
/// Notes that are written at once after a search in vain.
const NOTES_AT_ONCE: usize = 4_096;

/// The records of one namespace in an engine.
pub(super) struct Records {
    /// Only ever reached by who has all of this: it makes a store one that threads may share, whatever its engine is.
    engine: Mutex<Box<dyn Engine>>,
    pub(super) profile: Profile,
    pub(super) namespace: Namespace,
    /// The highest version of records that this program knows.
    pub(super) knows: u8,
    /// What the engine was known by when it was read last.
    fingerprint: String,
    /// The last read's, for the notes of its commit.
    search: Option<Search>,
    /// Node ids that hints called free, where the write found otherwise.
    doubted: BTreeSet<u32>,
}

impl Records {
    /// The records of a namespace, of which nothing was read yet.
    pub(super) fn new(engine: Box<dyn Engine>, namespace: &Namespace) -> Self {
        Self {
            profile: engine.profile(),
            engine: Mutex::new(engine),
            namespace: namespace.clone(),
            knows: VERSION,
            fingerprint: String::new(),
            search: None,
            doubted: BTreeSet::new(),
        }
    }

    pub(super) fn engine(&mut self) -> &mut dyn Engine {
        let engine = self.engine.get_mut();
        &mut **engine.unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine, and the version of records that this program knows.
    pub(super) fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        let engine = self.engine.get_mut().ok()?;
        Some((&mut **engine, &mut self.knows))
    }

    /// The same with its engine inside of another.
    pub(super) fn wrapped<E: Engine + 'static>(
        self,
        wrap: impl FnOnce(Box<dyn Engine>) -> E,
    ) -> Self {
        let engine = self.engine.into_inner();
        let engine: Box<dyn Engine> =
            Box::new(wrap(engine.unwrap_or_else(PoisonError::into_inner)));
        Self {
            profile: engine.profile(),
            engine: Mutex::new(engine),
            ..self
        }
    }

    /// All that it remembers, over the same engine.
    pub(super) fn copied(&self, engine: Box<dyn Engine>) -> Self {
        Self {
            profile: self.profile.clone(),
            engine: Mutex::new(engine),
            namespace: self.namespace.clone(),
            knows: self.knows,
            fingerprint: self.fingerprint.clone(),
            search: self.search.clone(),
            doubted: self.doubted.clone(),
        }
    }

    /// Reads what is wanted.
    pub(super) fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, EngineError> {
        let view = self.view(wanted);
        view.inspect_err(|_| self.engine().abandon())
    }

    fn view(&mut self, wanted: &Wanted<'_>) -> Result<View, EngineError> {
        self.search = None;
        let assigned = self.profile.assigned;
        let mut asked = wanted.nodes.to_vec();
        asked.extend(assigned.filter(|_| wanted.free > 0));
        // No other node id is there.
        asked.retain(|node_id| assigned.is_none_or(|assigned| assigned == *node_id));
        asked.sort_unstable();
        asked.dedup();
        let mut keys = vec![Keys::One(Key::Namespace)];
        keys.extend(asked.iter().map(|node_id| Keys::One(Key::Node(*node_id))));
        let search = if wanted.free > 0 && assigned.is_none() {
            let random = if self.profile.is_shared {
                [random()?, random()?]
            } else {
                [0, 0]
            };
            let max_node_id = self.namespace.spec().max_node_id();
            let within = wanted.within.unwrap_or((0, max_node_id));
            let search = Search::new(max_node_id, within, wanted.free, &asked, random);
            keys.extend(search.first_keys());
            Some(search)
        } else {
            None
        };

        let Reading {
            now,
            mut continuity,
            texts,
        } = self.engine().read(&Ask::with_state(&keys))?;
        self.fingerprint.clone_from(&continuity.fingerprint);
        let namespace = texts.get(&Key::Namespace);
        let namespace = namespace.map(|text| self.namespace_of(text)).transpose()?;
        if namespace.is_none() && continuity.is_absence_certain {
            // Leases without it show that it was deleted.
            continuity.is_absence_certain = !self.has_leases()?;
        }
        let mut nodes = Vec::with_capacity(asked.len() + wanted.free);
        for node_id in asked {
            let text = texts.get(&Key::Node(node_id));
            nodes.push(self.node(node_id, text.map(String::as_str))?);
        }
        let mut free_from = None;
        if let Some(mut search) = search {
            let tick = self.namespace.spec().tick_at(now).unwrap_or(0);
            search.take_first(&texts, tick, &self.doubted, wanted.seen);
            self.search(&mut search)?;
            for (node_id, text) in search.chosen() {
                nodes.push(self.node(node_id, text)?);
            }
            free_from = search.free_from();
            self.search = Some(search);
        }
        Ok(View {
            now,
            continuity,
            namespace,
            nodes,
            is_sole: assigned.is_some(),
            free_from,
        })
    }

    /// Looks at pages until enough is found, or at all.
    fn search(&mut self, search: &mut Search) -> Result<(), EngineError> {
        if search.missing() == 0 || search.is_full() || search.is_small() {
            return Ok(());
        }
        let (mut from, mut to) = (0, SPANS[0].min(search.pages()));
        let mut looks = LOOKS[0].max(search.missing() / LOOKS[1]);
        // Beside the notes, the first page is worth a look, whatever its note says.
        let first = search.first_page();
        let mut keys = search.page_keys(&[first]);
        loop {
            keys.extend(search.note_keys(from..to));
            let texts = self.engine().read(&Ask::texts(&keys))?.texts;
            search.take_notes(&texts);
            if from == 0 {
                search.take_page(first, &texts);
            }
            let mut ready = search.ready(from..to);
            while search.missing() > 0 && !ready.is_empty() {
                let pages: Vec<_> = ready.drain(..looks.min(ready.len())).collect();
                let texts = self
                    .engine()
                    .read(&Ask::texts(&search.page_keys(&pages)))?
                    .texts;
                for page in pages {
                    search.take_page(page, &texts);
                }
                looks = (looks * 4).min(LOOKS[1]);
            }
            if search.missing() == 0 {
                return Ok(());
            }
            if to == search.pages() {
                return self.note_all(search);
            }
            (from, to) = (to, to.saturating_add(SPANS[1]).min(search.pages()));
            keys.clear();
        }
    }

    /// After a search in vain: the next one shall not look at the same pages.
    fn note_all(&mut self, search: &Search) -> Result<(), EngineError> {
        let nonce = getrandom::u64().map_err(EngineError::unavailable)?;
        let notes = search.notes(&BTreeMap::new(), nonce);
        let full = search.full_hint(&self.doubted, nonce);
        let notes = notes.chunks(self.profile.max_batch.min(NOTES_AT_ONCE));
        for entries in notes.chain(full.chunks(full.len().max(1))) {
            // If one of them has changed meanwhile, the next search is slower.
            let write = Write {
                fingerprint: self.fingerprint.clone(),
                entries: entries.to_vec(),
                ..Write::default()
            };
            self.engine().write(&write)?;
        }
        self.doubted.clear();
        Ok(())
    }

    /// Writes a change that was decided from the last read, or from what was written last.
    pub(super) fn commit(&mut self, change: &Change) -> Result<Committed, EngineError> {
        let before = change.namespace_before.as_ref();
        let after = change.namespace_after.as_ref();
        let mut entries = vec![Entry {
            key: Key::Namespace,
            before: Before::read(before.map(NamespaceRecord::to_text)),
            after: after.map(NamespaceRecord::to_text),
        }];
        entries.extend(change.nodes.iter().map(|node| Entry {
            key: Key::Node(node.after.node_id),
            before: Before::read(node.before.as_ref().map(NodeRecord::to_text)),
            after: Some(node.after.to_text()),
        }));
        entries.extend(change.nodes.iter().filter_map(history::entry));
        let written = || change.nodes.iter().map(|node| &node.after);
        let search = self.search.take();
        if let Some(nonce) = written().next().map(|record| record.nonce) {
            if let Some(search) = &search {
                let taken = written().map(|record| (record.node_id, record.end));
                let taken: BTreeMap<_, _> = taken.collect();
                let is_gone =
                    |node_id| taken.contains_key(&node_id) || self.doubted.contains(&node_id);
                entries.extend(search.changed_hints(is_gone, nonce));
                let notes = search.notes(&taken, nonce).into_iter();
                entries.extend(notes.take(NOTES.max(taken.len() / NOTES)));
            }
            let max_node_id = self.namespace.spec().max_node_id();
            entries.extend(freed(max_node_id, change, nonce));
        }
        let latest_end = written().map(|record| record.end).max();
        let fingerprint = match before.filter(|_| change.window.is_some()) {
            Some(before) => &before.fingerprint,
            None => &self.fingerprint,
        };
        let write = Write {
            fingerprint: fingerprint.clone(),
            window: change.window,
            entries,
            latest_end_unix_ms: latest_end.map_or(0, |end| self.namespace.spec().unix_ms(end)),
        };
        let committed = self.engine().write(&write)?;
        match (committed, &search) {
            (Committed::Stale, Some(search)) => self.doubted.extend(search.hinted()),
            (Committed::Done { .. }, Some(_)) => self.doubted.clear(),
            (_, None) => {}
        }
        Ok(committed)
    }

    /// Puts a claim unless there is one; returns the one that is there then.
    pub(super) fn claim(
        &mut self,
        check: u32,
        claim: &SecretClaim,
    ) -> Result<SecretClaim, StoreError> {
        let text = self.engine().claim(check, &claim.to_text())?;
        let place = &self.profile.place;
        SecretClaim::from_text(&text, self.knows)
            .map_err(|why| SecretClaim::refused(place, check, &why))
    }

    /// Whether any node id was ever leased.
    pub(super) fn has_leases(&mut self) -> Result<bool, EngineError> {
        Ok(!self.texts_from(0, 1)?.is_empty())
    }

    /// The texts of node ids from one on, in their order: the first ones, or all of an engine without an order.
    fn texts_from(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let keys = [Keys::Nodes(first..=u32::MAX)];
        let texts = self
            .engine()
            .read(&Ask::first(&keys, most))?
            .texts
            .into_iter();
        let nodes = texts.filter_map(|(key, text)| match key {
            Key::Node(node_id) => Some((node_id, text)),
            _ => None,
        });
        Ok(nodes.collect())
    }

    /// The first records of some node ids, in their order.
    pub(super) fn list(
        &mut self,
        node_ids: RangeInclusive<u32>,
        limit: usize,
    ) -> Result<Vec<NodeRecord>, EngineError> {
        let (first, last) = node_ids.into_inner();
        let most = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX);
        let most = most.saturating_add(1).min(limit).min(LISTED_AT_ONCE);
        let mut records = Vec::new();
        let mut next = Some(first);
        while let Some(from) = next.filter(|from| *from <= last && records.len() < limit) {
            let texts = self.texts_from(from, most)?;
            let latest = texts.last().map(|(node_id, _)| *node_id);
            next = latest
                .filter(|_| texts.len() == most)
                .and_then(|latest| latest.checked_add(1));
            let texts = texts.into_iter().filter(|(node_id, _)| *node_id <= last);
            for (node_id, text) in texts.take(limit - records.len()) {
                records.push(self.node_of(node_id, &text)?);
            }
        }
        Ok(records)
    }

    /// Reads the counter.
    pub(super) fn read_counter(&mut self) -> Result<CounterView, EngineError> {
        let view = self.counter();
        view.inspect_err(|_| self.engine().abandon())
    }

    fn counter(&mut self) -> Result<CounterView, EngineError> {
        let Reading {
            continuity, texts, ..
        } = self
            .engine()
            .read(&Ask::with_state(&[Keys::One(Key::Counter)]))?;
        self.fingerprint.clone_from(&continuity.fingerprint);
        let record = texts.get(&Key::Counter).map(|text| {
            CounterRecord::from_text(text, self.knows).map_err(|why| {
                self.refused(&format!("the counter {:?}", self.namespace.name()), &why)
            })
        });
        Ok(CounterView {
            record: record.transpose()?,
            continuity,
        })
    }

    /// Writes the counter if it still is what was read.
    pub(super) fn commit_counter(
        &mut self,
        before: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<Committed, EngineError> {
        let entry = Entry {
            key: Key::Counter,
            before: Before::read(before.map(CounterRecord::to_text)),
            after: Some(after.to_text()),
        };
        let write = Write {
            fingerprint: self.fingerprint.clone(),
            entries: vec![entry],
            ..Write::default()
        };
        self.engine().write(&write)
    }

    fn node(&self, node_id: u32, text: Option<&str>) -> Result<Node, EngineError> {
        let record = text.map(|text| self.node_of(node_id, text)).transpose()?;
        Ok(Node { node_id, record })
    }

    fn namespace_of(&self, text: &str) -> Result<NamespaceRecord, EngineError> {
        NamespaceRecord::from_text(text, self.knows).map_err(|why| {
            let what = format!("the namespace {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    pub(super) fn node_of(&self, node_id: u32, text: &str) -> Result<NodeRecord, EngineError> {
        NodeRecord::from_text(node_id, text, self.knows).map_err(|why| {
            let what = format!("node id {node_id} of {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    fn refused(&self, what: &str, why: &str) -> EngineError {
        let place = &self.profile.place;
        EngineError::unusable(format!("{place}: {what}: {why}"))
    }
}

/// Shows the engine.
impl Debug for Records {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.engine.try_lock() {
            Ok(engine) => Debug::fmt(&**engine, f),
            Err(_) => f.write_str(&self.profile.place),
        }
    }
}

fn random() -> Result<u32, EngineError> {
    getrandom::u32().map_err(EngineError::unavailable)
}
