//! Records of node ids in their order.

use core::ops::RangeInclusive;

use super::Ask;
use super::records::Records;
use crate::rules::{Key, Keys, NodeRecord};
use crate::types::EngineError;

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
            // An engine without an order gives all at once, which is more or fewer than that, as a rule; if not, one read
            // too many finds nothing.
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

    /// The texts of node ids from one on, in their order: the first ones, or all of an engine without an order.
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
