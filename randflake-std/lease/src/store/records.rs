//! An engine's texts as records: reads that a rule decides from, conditional writes, and lists.

use core::fmt::{self, Debug, Formatter};
use core::ops::RangeInclusive;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Ask, Engine, Profile, Reading};
use crate::rules::search::confirmation;
use crate::rules::search::{Search, freed};
use crate::rules::{
    Before, Change, Demand, Entry, Key, Keys, NamespaceRecord, Node, NodeChange, NodeRecord,
    Removal, SecretClaim, VERSION, View, Write, WriteOutcome, history,
};
use crate::types::{EngineError, Namespace, StoreError};

/// The records of one namespace in an engine.
pub(super) struct Records {
    /// Only ever reached by who has all of this: the lock makes a store one that threads may share,
    /// whatever its engine is.
    engine: Mutex<Box<dyn Engine>>,
    pub(super) profile: Profile,
    pub(super) namespace: Namespace,
    /// The highest version of records that this program knows.
    pub(super) capabilities: u8,
    /// Fingerprint of the engine when it was read last.
    pub(super) fingerprint: String,
    /// The search of the last read, for the hints of its commit.
    pub(super) search: Option<Search>,
    /// Node ids that hints called free, where the write found otherwise.
    pub(super) doubted: BTreeSet<u32>,
}

impl Records {
    /// The records of a namespace, of which nothing was read yet.
    pub(super) fn new(engine: Box<dyn Engine>, namespace: &Namespace) -> Self {
        Self {
            profile: engine.profile(),
            engine: Mutex::new(engine),
            namespace: namespace.clone(),
            capabilities: VERSION,
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
        Some((&mut **engine, &mut self.capabilities))
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
            capabilities: self.capabilities,
            fingerprint: self.fingerprint.clone(),
            search: self.search.clone(),
            doubted: self.doubted.clone(),
        }
    }

    pub(super) fn node(&self, node_id: u32, text: Option<&str>) -> Result<Node, EngineError> {
        let record = text.map(|text| self.node_of(node_id, text)).transpose()?;
        Ok(Node { node_id, record })
    }

    pub(super) fn namespace_of(&self, text: &str) -> Result<NamespaceRecord, EngineError> {
        NamespaceRecord::from_text(text, self.capabilities).map_err(|why| {
            let what = format!("the namespace {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    pub(super) fn node_of(&self, node_id: u32, text: &str) -> Result<NodeRecord, EngineError> {
        NodeRecord::from_text(node_id, text, self.capabilities).map_err(|why| {
            let what = format!("node id {node_id} of {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    pub(super) fn refused(&self, what: &str, why: &str) -> EngineError {
        let place = &self.profile.place;
        EngineError::failed_precondition(format!("{place}: {what}: {why}"))
    }
}

/// Shows the engine, or only its place while a call uses it.
impl Debug for Records {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A log line must not wait for a store that is at work.
        match self.engine.try_lock() {
            Ok(engine) => Debug::fmt(&**engine, f),
            Err(_) => f.write_str(&self.profile.place),
        }
    }
}

impl Records {
    /// Reads what a rule needs.
    pub(super) fn read(&mut self, demand: &Demand<'_>) -> Result<View, EngineError> {
        let view = self.view(demand);
        view.inspect_err(|_| self.engine().abandon())
    }

    fn view(&mut self, demand: &Demand<'_>) -> Result<View, EngineError> {
        // An earlier search must not leave its hints with what follows from this read.
        self.search = None;
        let mut node_ids = demand.nodes.to_vec();
        // Chosen node ids may be among those that an earlier try may have been granted.
        node_ids.sort_unstable();
        node_ids.dedup();
        let mut keys = vec![Keys::One(Key::Namespace)];
        keys.extend(node_ids.iter().map(|it| Keys::One(Key::Node(*it))));
        let search = if demand.free > 0 {
            Some(self.begin_search(demand, &node_ids)?)
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
        let namespace = texts
            .get(&Key::Namespace)
            .map(|text| self.namespace_of(text))
            .transpose()?;
        if namespace.is_none() && continuity.is_absence_certain {
            // Leases without it show that it was deleted. The rule sees only the node ids that were
            // asked for, which may never have been leased.
            continuity.is_absence_certain = !self.has_leases()?;
        }
        let mut nodes = Vec::with_capacity(node_ids.len() + demand.free);
        for node_id in node_ids {
            let text = texts.get(&Key::Node(node_id));
            nodes.push(self.node(node_id, text.map(String::as_str))?);
        }
        let mut free_from = None;
        if let Some(mut search) = search {
            // 0 before the epoch: the rule refuses such a clock.
            let tick = self.namespace.spec().tick_at(now).unwrap_or(0);
            search.take_first(&texts, tick, &self.doubted, demand.seen);
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

    fn begin_search(
        &mut self,
        demand: &Demand<'_>,
        node_ids: &[u32],
    ) -> Result<Search, EngineError> {
        let random = if self.profile.is_shared {
            [random()?, random()?]
        } else {
            // Where each client has the store to itself, nobody competes for the first free node
            // id. It is elsewhere in a store that is made in the place of this one.
            let state = self.engine().read(&Ask::with_state(&[]))?;
            [state.continuity.search_from, 0]
        };
        let max_node_id = self.namespace.spec().max_node_id();
        let within = demand.within.unwrap_or((0, max_node_id));
        Ok(Search::new(
            max_node_id,
            within,
            demand.free,
            node_ids,
            random,
        ))
    }

    /// Goes on until enough is found, or all was looked at. After a search in vain it says so in a
    /// hint.
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
            // If one of them has changed meanwhile, nothing is written, and the next search is as
            // long. This ends a lock of the read. An acquire that has something to write after all,
            // such as a quarantine, is stale then and begins anew, and the note spares it this
            // search.
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
}

fn random() -> Result<u32, EngineError> {
    getrandom::u32().map_err(EngineError::unavailable)
}

/// How often a claim is tried anew because it was neither there nor written: a claim is never
/// removed, so a third time would show a store that changes under its clients.
const CLAIM_TRIES: usize = 3;
/// How often an update begins anew because others were faster. Each time one of them has succeeded:
/// a thousand clients of one counter all get their turn.
const TRIES: usize = 1_000;

impl Records {
    /// Writes a change that was decided from the last read, or from what was written last.
    pub(super) fn commit(&mut self, change: &Change) -> Result<WriteOutcome, EngineError> {
        let before = change.namespace_before.as_ref();
        let after = change.namespace_after.as_ref();
        // In this order: databases have statements of their own for one update and what is put
        // beside it.
        let mut entries = vec![Entry {
            key: Key::Namespace,
            // Also if it stays: a drop, an upgrade or a quarantine since the read makes this stale.
            before: Before::read(before.map(NamespaceRecord::to_text)),
            after: after.map(NamespaceRecord::to_text),
        }];
        entries.extend(change.nodes.iter().map(|node| Entry {
            key: Key::Node(node.after.node_id),
            before: Before::read(node.before.as_ref().map(NodeRecord::to_text)),
            // A text in the place of the same one is no write for some engines.
            after: (!node.confirms()).then(|| node.after.to_text()),
        }));
        if change.nodes.iter().any(NodeChange::confirms) {
            let nonce = getrandom::u64().map_err(EngineError::unavailable)?;
            entries.push(confirmation(nonce));
        }
        entries.extend(change.nodes.iter().filter_map(history::entry));
        let written = || change.nodes.iter().map(|node| &node.after);
        // Taken, so that its hints go with one write only.
        let search = self.search.take();
        if let Some((search, first)) = search.as_ref().zip(written().next()) {
            let taken: BTreeSet<_> = written().map(|record| record.node_id).collect();
            entries.extend(search.changed_hints(
                |node_id| taken.contains(&node_id) || self.doubted.contains(&node_id),
                first.nonce,
            ));
        }
        // Only a release ends a lease early, and it searches nothing: so no hint is written twice.
        entries.extend(freed(self.namespace.spec().max_node_id(), change));
        let latest_end = written().map(|record| record.end).max();
        // Nothing was read for a blind renewal: it rests on what the record says. A mere look may
        // have read another fingerprint since, after which no quarantine was written.
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
            // What was read is read again by the next try. A hint would mislead it again.
            (WriteOutcome::Stale, Some(search)) => self.doubted.extend(search.hinted()),
            (WriteOutcome::Written { .. }, Some(_)) => self.doubted.clear(),
            (_, None) => {}
        }
        Ok(committed)
    }

    /// Reads some texts and writes what a rule makes of them, until nobody else was faster. No
    /// entries: nothing is to be written.
    pub(super) fn update<T, E: From<EngineError>>(
        &mut self,
        keys: &[Keys],
        rule: impl Fn(&Self, Reading) -> Result<(Vec<Entry>, T), E>,
    ) -> Result<T, E> {
        for _ in 0..TRIES {
            let reading = self
                .engine()
                .read(&Ask::with_state(keys))
                .inspect_err(|_| self.engine().abandon())?;
            let fingerprint = reading.continuity.fingerprint.clone();
            let decided = match &reading.continuity.fault {
                // As for leases: a reservation that is answered and then lost would be made again.
                Some(fault) => Err(EngineError::failed_precondition(fault.clone()).into()),
                None => rule(self, reading),
            };
            let (entries, answer) = decided.inspect_err(|_| self.engine().abandon())?;
            // An answer without a write must leave no lock of the read.
            if entries.is_empty() {
                self.engine().abandon();
                return Ok(answer);
            }
            let committed = self.engine().write(&Write {
                fingerprint,
                entries,
                ..Write::default()
            })?;
            if committed != WriteOutcome::Stale {
                return Ok(answer);
            }
        }
        Err(EngineError::unavailable("other clients of the store were faster each time").into())
    }

    /// Claims a secret unless another namespace has: in the whole server, and then in this store.
    /// The server's claim may be lost with a database that others use as a cache; the store's own
    /// is lost with its leases.
    pub(super) fn claim(&mut self, check: u32) -> Result<(), StoreError> {
        let claim = SecretClaim::of(&self.namespace, self.profile.database);
        let (place, capabilities) = (self.profile.place.clone(), self.capabilities);
        let shares_secret = self.namespace.shares_secret();
        let take = |engine: &mut dyn Engine| {
            let there = claim_in(engine, &place, capabilities, check, &claim)?;
            there.check(&claim, shares_secret)
        };
        if let Some(mut server) = self.engine().whole_server()? {
            take(&mut *server)?;
        }
        take(self.engine())
    }

    /// Removes everything but the namespace's record and counter, if that record is this text.
    pub(super) fn clear(&mut self, namespace: &str) -> Result<(), EngineError> {
        self.engine().remove(&Removal::Contents(namespace))
    }
}

/// Puts a claim in an engine unless there is one; returns the one that is there then.
fn claim_in(
    engine: &mut dyn Engine,
    place: &str,
    capabilities: u8,
    check: u32,
    claim: &SecretClaim,
) -> Result<SecretClaim, StoreError> {
    let key = Key::Claim(check);
    for _ in 0..CLAIM_TRIES {
        let ask = [Keys::One(key)];
        let mut reading = engine.read(&Ask::with_state(&ask))?;
        if let Some(text) = reading.texts.remove(&key) {
            return SecretClaim::from_text(&text, capabilities)
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
        // Stale: somebody else's claim was first, and the next read finds it.
        if engine.write(&write)? != WriteOutcome::Stale {
            return Ok(claim.clone());
        }
    }
    Err(StoreError::unavailable(
        "other clients of the store were faster each time",
    ))
}

/// Records of one reply: some 600 kB, far below the limits of replies that servers have.
const LISTED_AT_ONCE: usize = 4_096;

impl Records {
    /// Whether any node id was ever leased.
    pub(super) fn has_leases(&mut self) -> Result<bool, EngineError> {
        Ok(!self.texts_from(0, 1)?.is_empty())
    }

    /// The latest lease of a node id.
    pub(super) fn latest(&mut self, node_id: u32) -> Result<Option<NodeRecord>, EngineError> {
        Ok(self.list(node_id..=node_id, 1)?.pop())
    }

    /// The first records of some node ids, in their order.
    pub(super) fn list(
        &mut self,
        node_ids: RangeInclusive<u32>,
        limit: usize,
    ) -> Result<Vec<NodeRecord>, EngineError> {
        let (first, last) = node_ids.into_inner();
        let most = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX);
        // A single record is asked for as such, not as the first 4,096 behind it.
        let most = most.saturating_add(1).min(limit).min(LISTED_AT_ONCE);
        let mut records = Vec::new();
        let mut next = Some(first);
        while let Some(from) = next.filter(|from| *from <= last && records.len() < limit) {
            let texts = self.texts_from(from, most)?;
            let latest = texts.last().map(|(node_id, _)| *node_id);
            // An engine without an order gives all at once, which is more or fewer than that, as a
            // rule; if not, one read too many finds nothing.
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

    /// The texts of node ids from one on, in their order: the first ones, or all of an engine
    /// without an order.
    fn texts_from(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let keys = [Keys::Nodes(first..=u32::MAX)];
        let texts = self.engine().read(&Ask::first(&keys, most))?.texts;
        let nodes = texts.into_iter().filter_map(|(key, text)| match key {
            Key::Node(node_id) => Some((node_id, text)),
            _ => None,
        });
        Ok(nodes.collect())
    }
}
