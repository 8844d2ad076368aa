//! Reads: what a rule decides from.

use super::records::Records;
use super::{Ask, Reading};
use crate::rules::search::Search;
use crate::rules::{Demand, Key, Keys, View, Write};
use crate::types::EngineError;

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
        let namespace = texts.get(&Key::Namespace);
        let namespace = namespace.map(|text| self.namespace_of(text)).transpose()?;
        if namespace.is_none() && continuity.is_absence_certain {
            // Leases without it show that it was deleted.
            // The rule sees only the node ids that were asked for, which may never have been leased.
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
            // Where each client has the store to itself, nobody competes for the first free node id. It is elsewhere in a
            // store that is made in the place of this one.
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
            // This ends a lock of the read. An acquire that has something to write after all, such
            // as a quarantine, is stale then and begins anew, and the note spares it this search.
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
