//! Changes: what a rule decides to write, and on which condition.

use core::time::Duration;

use super::{NamespaceRecord, NodeRecord, View};
use crate::types::StoreError;

/// A conditional write: all of it or nothing, durably, and only if everything that it was decided
/// from is unchanged.
#[derive(Clone, Debug)]
pub struct Change {
    /// Record of the namespace as it was read: it must still have this `namespace_nonce` and
    /// `writes`.
    pub namespace_before: Option<NamespaceRecord>,
    /// New record of the namespace; `None` leaves it.
    pub namespace_after: Option<NamespaceRecord>,
    /// Changes of node ids, each at most once.
    pub nodes: Vec<NodeChange>,
    /// Interval in which the store clock must be, for a change that was decided without reading it.
    pub window: Option<(Duration, Duration)>,
}

/// Change of the record of one node id.
#[derive(Clone, Debug)]
pub struct NodeChange {
    /// The record as it was read: it must still have this `fencing_token`, `serial`, `held` and
    /// `nonce`.
    pub before: Option<NodeRecord>,
    /// New record of the node id. If it is the record as it was read, that one stays, and survives
    /// a crash once the change is written.
    pub after: NodeRecord,
}

impl NodeChange {
    /// The record stays as it was read. An answer that rests on it needs a write all the same: what
    /// was read may be another client's write, whose log an engine shows before it is on the disk.
    pub(super) fn confirmed(record: &NodeRecord) -> Self {
        Self {
            before: Some(record.clone()),
            after: record.clone(),
        }
    }

    /// Whether the record stays as it was read.
    pub(crate) fn confirms(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }
}

impl Change {
    /// A change without effect yet.
    pub(crate) fn none(view: &View) -> Self {
        Self {
            namespace_before: view.namespace.clone(),
            namespace_after: None,
            nodes: Vec::new(),
            window: None,
        }
    }

    /// Whether the change reopens a dropped namespace.
    pub(crate) fn opens_anew(&self) -> bool {
        let is_dropped = |record: &NamespaceRecord| record.reason.is_dropped;
        // From a mark to a record; not from a mark to a mark, as a second drop would be.
        self.namespace_before.as_ref().is_some_and(is_dropped)
            && !self.namespace_after.as_ref().is_none_or(is_dropped)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.namespace_after.is_none() && self.nodes.is_empty()
    }
}

/// Decision of a rule: what to write, and what to answer once it is written.
#[derive(Debug)]
pub struct Decision<T> {
    /// The change to write.
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

    /// A refusal that writes nothing.
    pub(crate) fn refused(refusal: StoreError) -> Self {
        Self {
            change: Change {
                // Not even the record that was read: a refused view must not be remembered.
                namespace_before: None,
                namespace_after: None,
                nodes: Vec::new(),
                window: None,
            },
            answer: Err(refusal),
        }
    }
}

/// Outcome of writing a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The change was written and survives a crash.
    Written {
        /// Clock of the store at the write.
        now: Duration,
    },
    /// Something had changed since the read; nothing was written.
    Stale,
}
