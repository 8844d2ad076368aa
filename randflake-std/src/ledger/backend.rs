//! What an engine does for the rules.

use core::fmt::Debug;
use core::time::Duration;

use super::{Change, NodeRecord, View, Wanted};
use crate::lease::{Finding, StoreError};

/// Where the records of one namespace are kept. It decides nothing.
///
/// # Contract
///
/// 1. **Read** gives the records as they are at one moment, or as they were one after the other, together with
///    the store's clock and the engine's [`Continuity`](super::Continuity) of then. What it creates for itself (tables,
///    a file) is empty.
/// 2. **Commit** writes all of a [`Change`] or nothing. It writes only if the namespace's record and each node's
///    still are what the change says, and the clock is in its window; and only where was read: over the same
///    connection, or after a look at the fingerprint. It answers [`Committed::Done`] only when
///    the write survives a crash.
/// 3. Records appear when they are first written: opening costs the same with 2 and with 2^32 node ids.
/// 4. The cost of reading and committing does not grow with the number of leases or node ids.
/// 5. An engine that holds a lock from a read to its commit lets go of it in `abandon`.
pub trait Backend: Send + Debug {
    /// Reads what is wanted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::Unusable`].
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError>;

    /// Writes a change that was decided from the last read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]: whether it was written is not known. [`StoreError::Unusable`]: it was not.
    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError>;

    /// Nothing follows from the last read.
    fn abandon(&mut self) {}

    /// All records, in the order of node ids.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError>;

    /// What the engine says of itself, but for the quarantine.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }

    /// Whether a renewal is written without a read before. The engine then checks the change's window, and that
    /// its fingerprint is that of `namespace_before` and no setting has become a fault, in the write.
    fn renews_unread(&self) -> bool {
        false
    }

    /// How many node ids one change may have: an acquire of more is refused, and renewals and releases are split.
    fn at_once(&self) -> usize {
        usize::MAX
    }

    /// An operation follows that should be answered within a part of this TTL.
    fn limit_for(&mut self, ttl: Duration) {
        _ = ttl;
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

impl<E: super::Engine> Backend for super::Records<E> {
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError> {
        Ok(Self::read(self, wanted)?)
    }

    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError> {
        Ok(Self::commit(self, change)?)
    }

    fn abandon(&mut self) {
        self.engine.abandon();
    }

    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError> {
        Ok(Self::list(self)?)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        Ok(self.engine.diagnose()?)
    }

    fn renews_unread(&self) -> bool {
        self.engine.renews_unread()
    }

    fn at_once(&self) -> usize {
        self.engine.at_once()
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.engine.limit_for(ttl);
    }
}
