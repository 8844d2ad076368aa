//! Durable counter of the last ticket, in a horizon store.

use crate::{HorizonError, HorizonStore, Ticket};

/// Keeps the counter of the last ticket in a [`HorizonStore`] of its own, for
/// [`TicketReader`](crate::TicketReader): both are numbers that only grow.
///
/// A store may round up to 4 s; the counter is still kept exactly. After a failure a store may go
/// higher: then the reader refuses the next ticket or two, and the one who makes them raises the
/// counter. If nothing is readable the counter is 0, as for a device that has accepted no ticket:
/// an old ticket is then accepted once more, and the horizon decides whether it is used.
///
/// ```
/// use randflake_core::{HorizonError, HorizonStore, TicketCounter};
///
/// # struct Ram(u32);
/// # impl HorizonStore for Ram {
/// #     type Error = core::convert::Infallible;
/// #     fn unix_s(&self) -> u32 { self.0 }
/// #     fn raise(&mut self, to: u32) -> Result<(), Self::Error> { self.0 = to.max(self.0); Ok(()) }
/// # }
/// # let mut store = Ram(0);
/// let mut counter = TicketCounter::new(&mut store);
/// assert_eq!(counter.last(), 0);
/// counter.raise(7)?;
/// assert_eq!(counter.last(), 7);
/// assert_eq!(counter.raise(u32::MAX), Err(HorizonError::OutOfRange));
/// # Ok::<(), HorizonError<core::convert::Infallible>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TicketCounter<S> {
    store: S,
}

/// Step that a store may round up to: see the contract of [`HorizonStore`]. Counters are stored as
/// multiples of it.
const UNIT: u32 = 4;

impl<S: HorizonStore> TicketCounter<S> {
    /// Highest counter that can be stored, 2^30 - 1.
    pub const MAX: u32 = Ticket::MAX_COUNTER;

    /// Creates a counter in a store that holds nothing else.
    pub const fn new(store: S) -> Self {
        Self { store }
    }

    /// Counter of the last ticket, for [`TicketReader::new`](crate::TicketReader::new); 0 if there
    /// was none.
    pub fn last(&self) -> u32 {
        // Rounded up, as the store does: so the counter read is the counter written.
        self.store.unix_s().div_ceil(UNIT)
    }

    /// Stores the counter of an accepted ticket durably, before its lease is used. One that is not
    /// above the [last](Self::last) changes nothing.
    ///
    /// # Errors
    ///
    /// On an error the ticket must not be used.
    ///
    /// - [`OutOfRange`](HorizonError::OutOfRange): the counter is above [`MAX`](Self::MAX);
    /// - [`Store`](HorizonError::Store): the store failed.
    pub fn raise(&mut self, counter: u32) -> Result<(), HorizonError<S::Error>> {
        // Raising again would increase it: a store writes something higher than all it has seen.
        if counter <= self.last() {
            return Ok(());
        }
        // As a multiple of the rounding, so that a store which rounds up keeps the counter exactly.
        let kept = counter.checked_mul(UNIT).ok_or(HorizonError::OutOfRange)?;
        self.store.raise(kept).map_err(HorizonError::Store)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use super::*;

    /// Rounds up to 4 s, and each raise goes beyond what it holds.
    struct Ram {
        unix_s: u32,
        raises: u32,
        works: bool,
    }

    impl HorizonStore for Ram {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.unix_s
        }

        fn raise(&mut self, to: u32) -> Result<(), ()> {
            self.raises += 1;
            if !self.works {
                return Err(());
            }
            let beyond = self.unix_s.checked_add(UNIT).unwrap();
            self.unix_s = to.next_multiple_of(UNIT).max(beyond);
            Ok(())
        }
    }

    fn counter() -> TicketCounter<Ram> {
        TicketCounter::new(Ram {
            unix_s: 0,
            raises: 0,
            works: true,
        })
    }

    #[test]
    fn each_counter_is_kept_exactly() {
        let mut counter = counter();
        assert_eq!(counter.last(), 0);
        for last in [1, 2, 3, 7, 8, 1_000, TicketCounter::<Ram>::MAX] {
            assert_eq!(counter.raise(last), Ok(()));
            assert_eq!(counter.last(), last);
        }
        let refused = counter.raise(TicketCounter::<Ram>::MAX + 1);
        assert_eq!(refused, Err(HorizonError::OutOfRange));
        assert_eq!(counter.store.raises, 7);
    }

    #[test]
    fn what_is_not_above_the_last_leaves_the_store_alone() {
        let mut counter = counter();
        assert_eq!(counter.raise(0), Ok(()));
        assert_eq!(counter.raise(5), Ok(()));
        for other in [5, 4, 0] {
            assert_eq!(counter.raise(other), Ok(()));
        }
        assert_eq!((counter.last(), counter.store.raises), (5, 1));
    }

    #[test]
    fn a_ticket_whose_counter_is_not_stored_is_not_used() {
        let mut counter = counter();
        counter.store.works = false;
        assert_eq!(counter.raise(1), Err(HorizonError::Store(())));
        assert_eq!(counter.last(), 0);
    }

    #[test]
    fn a_store_between_two_counters_shows_the_higher_one() {
        let mut counter = counter();
        counter.store.unix_s = 4 * 6 + 1;
        assert_eq!(counter.last(), 7);
    }
}
