//! The counter of a device's last ticket, where a horizon could be.

use crate::{HorizonError, HorizonStore, Ticket};

/// The counter of the last ticket in a [`HorizonStore`] of its own, for [`TicketReader`](crate::TicketReader): both are
/// numbers that only grow.
///
/// A store may round up by some seconds, which would refuse the next tickets; a counter is kept exactly. Nothing readable
/// is 0, a device that has accepted no ticket: an old one is accepted once more then, and the horizon, which is lost with
/// it or keeps ids apart, decides whether it is used.
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

/// What a store may round up to: see the contract of [`HorizonStore`].
const UNIT: u32 = 4;

impl<S: HorizonStore> TicketCounter<S> {
    /// The highest counter that is kept, 2^30 - 1.
    pub const MAX: u32 = Ticket::MAX_COUNTER;

    /// The counter in a store that holds nothing else.
    pub const fn new(store: S) -> Self {
        Self { store }
    }

    /// The counter of the last ticket, for [`TicketReader::new`](crate::TicketReader::new); 0 when there was none.
    pub fn last(&self) -> u32 {
        self.store.unix_s().div_ceil(UNIT)
    }

    /// Keeps the counter of a ticket that was accepted, durably: before its lease is used. One that is not above the
    /// [last](Self::last) changes nothing.
    ///
    /// # Errors
    ///
    /// The ticket is not to be used then.
    ///
    /// - [`OutOfRange`](HorizonError::OutOfRange): the counter is above [`MAX`](Self::MAX);
    /// - [`Store`](HorizonError::Store): the store failed.
    pub fn raise(&mut self, counter: u32) -> Result<(), HorizonError<S::Error>> {
        // To write it once more would be to raise it: a store keeps what is higher than all it has seen.
        if counter <= self.last() {
            return Ok(());
        }
        let kept = counter.checked_mul(UNIT).ok_or(HorizonError::OutOfRange)?;
        self.store.raise(kept).map_err(HorizonError::Store)
    }
}
