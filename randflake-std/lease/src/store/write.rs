//! Conditional writes: what a rule has decided.

use std::collections::BTreeSet;

use super::records::Records;
use super::{Ask, Engine, Reading};
use crate::rules::hints::confirmation;
use crate::rules::history;
use crate::rules::search::freed;
use crate::rules::{
    Before, Change, Entry, Key, Keys, NamespaceRecord, NodeChange, NodeRecord, Removal,
    SecretClaim, Write, WriteOutcome,
};
use crate::types::{EngineError, StoreError};

/// How often a claim is tried anew because it was neither there nor written: a claim is never removed, so a third time
/// would show a store that changes under its clients.
const CLAIM_TRIES: usize = 3;
/// How often an update begins anew because others were faster. Each time one of them has succeeded: a thousand clients of
/// one counter all get their turn.
const TRIES: usize = 1_000;

impl Records {
    /// Writes a change that was decided from the last read, or from what was written last.
    pub(super) fn commit(&mut self, change: &Change) -> Result<WriteOutcome, EngineError> {
        let before = change.namespace_before.as_ref();
        let after = change.namespace_after.as_ref();
        // In this order: databases have statements of their own for one update and what is put beside it.
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
            let is_gone = |node_id| taken.contains(&node_id) || self.doubted.contains(&node_id);
            entries.extend(search.changed_hints(is_gone, first.nonce));
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

    /// Claims a secret unless another namespace has: in the whole server, and then in this store. The server's claim may
    /// be lost with a database that others use as a cache; the store's own is lost with its leases.
    pub(super) fn claim(&mut self, check: u32) -> Result<(), StoreError> {
        let claim = SecretClaim::of(&self.namespace, self.profile.database);
        let (place, knows) = (self.profile.place.clone(), self.knows);
        let shares_secret = self.namespace.shares_secret();
        let take = |engine: &mut dyn Engine| {
            let there = claim_in(engine, &place, knows, check, &claim)?;
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
    knows: u8,
    check: u32,
    claim: &SecretClaim,
) -> Result<SecretClaim, StoreError> {
    let key = Key::Claim(check);
    for _ in 0..CLAIM_TRIES {
        let ask = [Keys::One(key)];
        let mut reading = engine.read(&Ask::with_state(&ask))?;
        if let Some(text) = reading.texts.remove(&key) {
            return SecretClaim::from_text(&text, knows)
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
