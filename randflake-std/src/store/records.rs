//! An engine's texts as records.

use core::fmt::{self, Debug, Formatter};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Ask, Engine, Profile, Reading};
use crate::rules::history;
use crate::rules::search::{Search, freed};
use crate::rules::{
    Before, Change, Committed, Entry, Key, Keys, NamespaceRecord, Node, NodeRecord, SecretClaim,
    VERSION, View, Wanted, Write,
};
use crate::vocabulary::{EngineError, Namespace, StoreError};

/// How often a claim is tried anew because it was neither there nor written: a claim is never removed, so a third time
/// would show a store that changes under its clients.
const CLAIM_TRIES: usize = 3;
/// How often an update begins anew because others were faster. Each time one of them has succeeded: a thousand clients of
/// one counter all get their turn.
const TRIES: usize = 1_000;

/// The records of one namespace in an engine.
pub(super) struct Records {
    /// Only ever reached by who has all of this: the lock makes a store one that threads may share, whatever its engine is.
    engine: Mutex<Box<dyn Engine>>,
    pub(super) profile: Profile,
    pub(super) namespace: Namespace,
    /// The highest version of records that this program knows.
    pub(super) knows: u8,
    /// Fingerprint of the engine when it was read last.
    fingerprint: String,
    /// The search of the last read, for the hints of its commit.
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
        let mut node_ids = wanted.nodes.to_vec();
        node_ids.sort_unstable();
        node_ids.dedup();
        let mut keys = vec![Keys::One(Key::Namespace)];
        keys.extend(node_ids.iter().map(|it| Keys::One(Key::Node(*it))));
        let search = if wanted.free > 0 {
            Some(self.begin_search(wanted, &node_ids)?)
        } else {
            None
        };
        keys.extend(search.iter().filter_map(Search::next_keys).flatten());

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
        let mut nodes = Vec::with_capacity(node_ids.len() + wanted.free);
        for node_id in node_ids {
            let text = texts.get(&Key::Node(node_id));
            nodes.push(self.node(node_id, text.map(String::as_str))?);
        }
        let mut free_from = None;
        if let Some(mut search) = search {
            let tick = self.namespace.spec().tick_at(now).unwrap_or(0);
            search.take_first(&texts, tick, &self.doubted, wanted.seen);
            self.finish_search(&mut search)?;
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
            assumed_max_ttl: self.profile.assumed_max_ttl,
            free_from,
        })
    }

    fn begin_search(&self, wanted: &Wanted<'_>, node_ids: &[u32]) -> Result<Search, EngineError> {
        let random = if self.profile.is_shared {
            [random()?, random()?]
        } else {
            [0, 0]
        };
        let max_node_id = self.namespace.spec().max_node_id();
        let within = wanted.within.unwrap_or((0, max_node_id));
        Ok(Search::new(
            max_node_id,
            within,
            wanted.free,
            node_ids,
            random,
        ))
    }

    /// Goes on until enough is found, or all was looked at. After a search in vain it says so in a hint.
    fn finish_search(&mut self, search: &mut Search) -> Result<(), EngineError> {
        while let Some(keys) = search.next_keys() {
            let texts = self.engine().read(&Ask::texts(&keys))?.texts;
            search.take_next(&texts);
        }
        if search.missing() == 0 {
            return Ok(());
        }
        let nonce = getrandom::u64().map_err(EngineError::unavailable)?;
        let entries = search.full_hint(&self.doubted, nonce);
        if !entries.is_empty() {
            // If one of them has changed meanwhile, nothing is written, and the next search is as long.
            let write = Write {
                fingerprint: self.fingerprint.clone(),
                entries,
                ..Write::default()
            };
            self.engine().write(&write)?;
            self.doubted.clear();
        }
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
        if let Some((search, first)) = search.as_ref().zip(written().next()) {
            let taken: BTreeSet<_> = written().map(|record| record.node_id).collect();
            let is_gone = |node_id| taken.contains(&node_id) || self.doubted.contains(&node_id);
            entries.extend(search.changed_hints(is_gone, first.nonce));
        }
        entries.extend(freed(self.namespace.spec().max_node_id(), change));
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

    /// Reads some texts and writes what a rule makes of them, until nobody else was faster. No entries: nothing is to be
    /// written.
    pub(super) fn update<T, E: From<EngineError>>(
        &mut self,
        keys: &[Keys],
        rule: impl Fn(&Self, Reading) -> Result<(Vec<Entry>, T), E>,
    ) -> Result<T, E> {
        for _ in 0..TRIES {
            let reading = self.engine().read(&Ask::with_state(keys));
            let reading = reading.inspect_err(|_| self.engine().abandon())?;
            let fingerprint = reading.continuity.fingerprint.clone();
            let decided = match &reading.continuity.fault {
                Some(fault) => Err(EngineError::unusable(fault.clone()).into()),
                None => rule(self, reading),
            };
            let (entries, answer) = decided.inspect_err(|_| self.engine().abandon())?;
            if entries.is_empty() {
                self.engine().abandon();
                return Ok(answer);
            }
            let committed = self.engine().write(&Write {
                fingerprint,
                entries,
                ..Write::default()
            })?;
            if committed != Committed::Stale {
                return Ok(answer);
            }
        }
        Err(EngineError::unavailable("other clients of the store were faster each time").into())
    }

    /// Puts a claim unless there is one; returns the one that is there then.
    pub(super) fn claim(
        &mut self,
        check: u32,
        claim: &SecretClaim,
    ) -> Result<SecretClaim, StoreError> {
        let key = Key::Claim(check);
        for _ in 0..CLAIM_TRIES {
            let ask = [Keys::One(key)];
            let mut reading = self.engine().read(&Ask::with_state(&ask))?;
            if let Some(text) = reading.texts.remove(&key) {
                let place = &self.profile.place;
                return SecretClaim::from_text(&text, self.knows)
                    .map_err(|why| SecretClaim::refused(place, check, &why));
            }
            let write = Write {
                fingerprint: reading.continuity.fingerprint,
                entries: vec![Entry {
                    key,
                    before: Before::Nothing,
                    after: Some(claim.to_text()),
                }],
                ..Write::default()
            };
            if self.engine().write(&write)? != Committed::Stale {
                return Ok(claim.clone());
            }
        }
        Err(StoreError::unavailable(
            "other clients of the store were faster each time",
        ))
    }

    /// Removes everything but the namespace's record and counter, if that record is this text.
    pub(super) fn clear(&mut self, namespace: &str) -> Result<(), EngineError> {
        self.engine().remove(&Keys::Contents, Some(namespace))
    }

    fn node(&self, node_id: u32, text: Option<&str>) -> Result<Node, EngineError> {
        let record = text.map(|text| self.node_of(node_id, text)).transpose()?;
        Ok(Node { node_id, record })
    }

    pub(super) fn namespace_of(&self, text: &str) -> Result<NamespaceRecord, EngineError> {
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

    pub(super) fn refused(&self, what: &str, why: &str) -> EngineError {
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
