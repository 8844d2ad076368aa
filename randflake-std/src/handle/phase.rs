//! What a handle's threads and its keeper wait for.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::losses::Losses;
use crate::vocabulary::StoreError;

/// How far the keeper is; every change wakes those who wait for one.
#[derive(Debug, Default)]
pub(super) struct Phase {
    /// The handle is being closed: the keeper shall release everything and end.
    pub(super) closing: bool,
    /// The keeper has ended.
    pub(super) ended: bool,
    /// Why it could not release the leases.
    pub(super) release_error: Option<StoreError>,
    /// How many issuers the keeper has put in place of others.
    pub(super) replaced: u64,
    /// How many leases were lost.
    pub(super) losses: Losses,
    /// The keeper shall look at the generation number.
    pub(super) copied: bool,
    /// The last generation of which it was told.
    pub(super) told_of: Option<u64>,
    /// Why the last call of the store failed, until one succeeds.
    pub(super) last_error: Option<Arc<StoreError>>,
    /// Why the store has not granted as many node ids as the load asks for, while it does.
    pub(super) shortage: Option<Arc<StoreError>>,
}

/// Why the keeper's pause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// The handle is being closed.
    Close,
    /// The machine was copied.
    Copy,
    /// The time is up, or a tick ran out.
    Other,
}

/// The time limit of a wait, and how much of it is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
        }
    }

    pub(super) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }
}
