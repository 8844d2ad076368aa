//! A grant of a handle, as its keeper knows it.

use randflake_core::{AnyLayout, Permutation};
use randflake_lease::{Grant, Loss};

use super::issuer::Issuer;
use super::shared::SharedHandle;
use crate::observability::{events, metrics};

/// A grant of this handle: its slot, and whether it is still held.
pub(super) struct Holding {
    pub(super) slot: usize,
    pub(super) grant: Grant,
    /// The store has confirmed it, as far as is known.
    pub(super) held: bool,
    /// It cannot be extended any more, so the slot needs another grant.
    pub(super) ending: bool,
    /// Tick and sequence of its next id at the last look: no change means that it is unused.
    pub(super) position: (u64, u32),
}

impl Holding {
    pub(super) fn new(slot: usize, grant: Grant) -> Self {
        Self {
            slot,
            grant,
            held: true,
            ending: false,
            // Where its sequencer begins: a grant that has issued nothing does not count as active.
            position: (grant.start, 0),
        }
    }

    /// Marks a lost grant as one to replace, and reports it.
    pub(super) fn lost(&mut self, loss: Loss, namespace: &str) {
        (self.held, self.ending) = (false, true);
        events::lost(namespace, self.grant.node_id, loss.name());
        metrics::lost(namespace, loss.name());
    }

    /// Stops issuing from a grant, and returns it cut to its used part if this process may release it: not if a
    /// copy of the machine may be using it.
    pub(super) fn retire<L: AnyLayout, P: Permutation + Send + Sync + 'static>(
        &self,
        shared: &SharedHandle<L, P>,
        issuer: &Issuer<L>,
    ) -> Option<Grant> {
        // Nothing is released that was sealed before: it was lost, and is not this process's any more.
        let unused_from = shared.seal(issuer)?;
        let is_ours = issuer.is_of(shared.generation.now());
        is_ours.then_some(Grant {
            end: unused_from,
            ..self.grant
        })
    }
}
