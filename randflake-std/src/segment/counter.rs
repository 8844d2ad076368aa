//! A counter as a store keeps it, and what may become of it.

use super::{CounterStatus, Segment};
use crate::lease::StoreError;

/// A counter, and up to which break of its store's continuity somebody vouches for it.
///
/// The store counts the breaks. A counter that was vouched for before the last one may have gone back,
/// and so may one that was not there at all when there has been any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) next: u64,
    pub(crate) vouched: u64,
}

impl Counter {
    /// One that was not used yet, as far as the store knows.
    pub(crate) const NEW: Self = Self {
        next: 1,
        vouched: 0,
    };

    /// Takes the next numbers of it.
    pub(crate) fn reserve(&mut self, count: u64, breaks: u64) -> Result<Segment, StoreError> {
        if self.vouched != breaks {
            return Err(StoreError::CounterLost { reached: self.next });
        }
        let segment = StoreError::segment(self.next, count)?;
        self.next = segment.end();
        Ok(segment)
    }

    pub(crate) fn status(&self, breaks: u64) -> CounterStatus {
        CounterStatus {
            next: self.next,
            lost: self.vouched != breaks,
        }
    }

    /// Goes on at a number, at the earliest, as told by somebody who knows.
    pub(crate) fn resume(&mut self, number: u64, breaks: u64) -> Result<u64, StoreError> {
        StoreError::segment(number, 1)?;
        self.next = self.next.max(number);
        self.vouched = breaks;
        Ok(self.next)
    }
}
