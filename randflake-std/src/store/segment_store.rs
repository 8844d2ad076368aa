//! The contract of a store that keeps counters.

use core::fmt::Debug;

use crate::vocabulary::{CounterError, CounterStatus};
use randflake_core::segment::Segment;

/// The counter of one namespace. The store types of [`lease`](crate::lease) implement it.
///
/// It is synchronous: one thread of a process calls it. Every method blocks while the engine works: see
/// [how long calls block](crate::lease#how-long-calls-block).
///
/// # Contract
///
/// 1. **Disjoint.** All segments ever reserved of a counter are pairwise disjoint, over all clients and all restarts:
///    the counter never goes back. Gaps are allowed.
/// 2. **Sequential.** A reservation begins where the previous one ended, unless a reply was lost or the counter was
///    [resumed](SegmentStore::resume) further on.
/// 3. **Durable.** An acknowledged reservation survives a crash of the store.
/// 4. **Amnesia.** The store keeps a fingerprint of its continuity. If that changed or is unexpectedly missing, the
///    counter may have gone back. Leases are safe again once they have expired; a counter never is. So reservations are
///    refused as [`CounterError::Lost`] until an operator says, with `resume`, where to continue. Each store's
///    documentation lists what it detects.
/// 5. A missing counter begins at 1 if the store can tell that it never existed, as one in a file can. On a server it may
///    have been lost, so it is `Lost` until an operator declares it new ([`create`](SegmentStore::create)) or resumes it.
/// 6. No clock is involved, and a reservation costs the same for any length.
pub trait SegmentStore: Send + Debug {
    /// Reserves the next `count` numbers. Not idempotent: after an unknown outcome, reserve again, which may leave a
    /// gap.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `count` is 0 or the counter has fewer left, [`CounterError::Lost`], and the
    /// engine's errors.
    fn reserve(&mut self, count: u64) -> Result<Segment, CounterError>;

    /// Returns the counter's position.
    ///
    /// # Errors
    ///
    /// What any operation meets.
    fn counter(&mut self) -> Result<CounterStatus, CounterError>;

    /// Declares that the counter is new, so that it begins at 1. For an operator who knows that no number of it was ever
    /// reserved. Does nothing if it was declared so and nothing was reserved since.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when the counter has reserved numbers, was resumed or may have gone back; and the engine's
    /// errors.
    fn create(&mut self) -> Result<(), CounterError>;

    /// Continues at `number`, or at the counter's position if that is higher; returns which. For an operator: to begin
    /// at a number other than 1, and after a data loss, when `number` must be higher than every number ever reserved.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `number` is not from 1 to [`MAX_NUMBER`](crate::segment::MAX_NUMBER), and the engine's
    /// errors.
    fn resume(&mut self, number: u64) -> Result<u64, CounterError>;
}

impl<S: SegmentStore + ?Sized> SegmentStore for Box<S> {
    fn reserve(&mut self, count: u64) -> Result<Segment, CounterError> {
        (**self).reserve(count)
    }

    fn counter(&mut self) -> Result<CounterStatus, CounterError> {
        (**self).counter()
    }

    fn create(&mut self) -> Result<(), CounterError> {
        (**self).create()
    }

    fn resume(&mut self, number: u64) -> Result<u64, CounterError> {
        (**self).resume(number)
    }
}
