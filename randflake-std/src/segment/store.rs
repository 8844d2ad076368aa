//! The contract of a store that keeps counters.

use core::fmt::Debug;

use super::{CounterError, Segment};

/// Where the counter of one namespace is kept. The store types of [`lease`](crate::lease) are such.
///
/// It is synchronous: one thread of a process calls it. Every method blocks while the engine takes its time: see
/// [how long calls block](crate::lease#how-long-calls-block).
///
/// # Contract
///
/// 1. **Disjoint.** All segments ever reserved of a counter are pairwise disjoint, over all clients
///    and all restarts: the counter never goes back. Numbers may be left out.
/// 2. **Dense.** A reservation begins where the one before ended, unless a reply was lost or the
///    counter was told to [`resume`](SegmentStore::resume) further on.
/// 3. **Durable.** A reservation that was answered survives a crash of the store.
/// 4. **Amnesia.** The store keeps a fingerprint of its continuity. If that changed or is missing where
///    it should be, the counter may have gone back. Leases are safe again when they are over; a counter
///    is not, whatever time passes. So reservations are refused as [`CounterError::Lost`] until an
///    administrator says, by `resume`, where to go on. Each store's documentation says what it
///    notices.
/// 5. A counter that is not there begins at 1 where the store can tell that it never was there; else
///    somebody begins it, by `resume`.
/// 6. The clock plays no part, and a reservation costs the same whatever its length.
pub trait SegmentStore: Send + Debug {
    /// Reserves the next `count` numbers. A reservation of unknown outcome is not repeated; another
    /// one leaves a gap.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `count` is 0 or the counter has fewer left,
    /// [`CounterError::Lost`], and what any operation meets.
    fn reserve(&mut self, count: u64) -> Result<Segment, CounterError>;

    /// Where the counter stands.
    ///
    /// # Errors
    ///
    /// What any operation meets.
    fn counter(&mut self) -> Result<CounterStatus, CounterError>;

    /// Goes on at `number`, or where the counter stands if that is further; says which. For an
    /// administrator: after the store lost its continuity `number` must be above every number that was
    /// ever reserved, and to begin elsewhere than at 1.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `number` is not from 1 to [`MAX_NUMBER`](super::MAX_NUMBER), and
    /// what any operation meets.
    fn resume(&mut self, number: u64) -> Result<u64, CounterError>;
}

impl<S: SegmentStore + ?Sized> SegmentStore for Box<S> {
    fn reserve(&mut self, count: u64) -> Result<Segment, CounterError> {
        (**self).reserve(count)
    }

    fn counter(&mut self) -> Result<CounterStatus, CounterError> {
        (**self).counter()
    }

    fn resume(&mut self, number: u64) -> Result<u64, CounterError> {
        (**self).resume(number)
    }
}

/// A counter as its store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterStatus {
    /// The first number that was not reserved yet, as far as the store knows.
    pub next: u64,
    /// The store may have forgotten reservations, and refuses until it is told where to
    /// [`resume`](SegmentStore::resume).
    pub lost: bool,
}
