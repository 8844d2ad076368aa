//! Shared state of a handle and its keeper that threads wait on.

use std::sync::Arc;

use super::losses::Losses;
use crate::vocabulary::StoreError;

/// State of the keeper; every change wakes those that wait for one.
#[derive(Debug, Default)]
pub(super) struct HandlePhase {
    /// The handle is being closed: the keeper releases everything and ends.
    pub(super) closing: bool,
    /// The keeper thread has ended.
    pub(super) ended: bool,
    /// Error of the final release, if it failed.
    pub(super) release_error: Option<StoreError>,
    /// Number of issuers that the keeper has replaced.
    pub(super) replaced: u64,
    /// Leases lost since the build, by reason.
    pub(super) losses: Losses,
    /// A caller has noticed another generation number; the keeper checks the leases.
    pub(super) copied: bool,
    /// The last generation that a caller has reported to the keeper.
    pub(super) reported_generation: Option<u64>,
    /// Why the last call of the store failed, until one succeeds.
    pub(super) last_error: Option<Arc<StoreError>>,
    /// Why the store has not granted as many node ids as the load asks for, while it does.
    pub(super) shortage: Option<Arc<StoreError>>,
}

/// Reason why the pause of the keeper ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// The handle is being closed by its owner.
    Close,
    /// The generation number shows that the machine was copied.
    Copy,
    /// The time is up, or a tick ran out.
    Other,
}
