//! What to write, and if what is still so.

use core::time::Duration;

use super::{NamespaceRecord, NodeRecord, View};
use crate::vocabulary::StoreError;

/// What to write: all of it or nothing, durably, and only if everything that it was decided from is still so.
#[derive(Clone, Debug)]
pub struct Change {
    /// The namespace's record as it was read: it must still be that, by `origin` and `writes`.
    pub namespace_before: Option<NamespaceRecord>,
    /// What becomes of it; `None`: it stays.
    pub namespace_after: Option<NamespaceRecord>,
    /// Node ids, each at most once.
    pub nodes: Vec<NodeChange>,
    /// The store's clock must show a time from the first to the second, where the change was decided without a
    /// look at it.
    pub window: Option<(Duration, Duration)>,
}

/// One node id.
#[derive(Clone, Debug)]
pub struct NodeChange {
    /// As it was read: it must still be that, by `fencing_token`, `serial`, `held` and `nonce`.
    pub before: Option<NodeRecord>,
    /// What becomes of it.
    pub after: NodeRecord,
}

impl Change {
    /// Nothing, for now.
    pub(crate) fn none(view: &View) -> Self {
        Self {
            namespace_before: view.namespace.clone(),
            namespace_after: None,
            nodes: Vec::new(),
            window: None,
        }
    }

    /// Whether a namespace that was dropped is opened again.
    pub(crate) fn opens_anew(&self) -> bool {
        let is_dropped = |record: &NamespaceRecord| record.reason.is_dropped;
        self.namespace_before.as_ref().is_some_and(is_dropped)
            && !self.namespace_after.as_ref().is_none_or(is_dropped)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.namespace_after.is_none() && self.nodes.is_empty()
    }
}

/// What the rules say: what to write, and what to answer once that is written.
#[derive(Debug)]
pub struct Decision<T> {
    /// What to write.
    pub change: Change,
    /// The answer. A refusal may come with a change, such as a quarantine.
    pub answer: Result<T, StoreError>,
}

impl<T> Decision<T> {
    /// Nothing is written, and the answer is no refusal.
    pub(super) fn unchanged(view: &View, answer: T) -> Self {
        Self {
            change: Change::none(view),
            answer: Ok(answer),
        }
    }

    /// Nothing is written.
    pub(crate) fn refused(refusal: StoreError) -> Self {
        Self {
            change: Change {
                namespace_before: None,
                namespace_after: None,
                nodes: Vec::new(),
                window: None,
            },
            answer: Err(refusal),
        }
    }
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is written.
    Done {
        /// The store's clock.
        now: Duration,
    },
    /// Something had changed since the read: nothing is written.
    Stale,
}
