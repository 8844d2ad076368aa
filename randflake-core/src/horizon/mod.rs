//! Restart safety without a lease store: a device records how far it may have got before it goes
//! there.

mod asynchronous;
mod blocks;
mod log;
mod record;
mod retained;
mod ticket_counter;

pub use asynchronous::AsyncHorizonStore;
pub use blocks::{Blocks, DEFAULT_BLOCK_S};
pub use log::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, LogGeometry, LogPage};
pub use record::HorizonRecord;
pub use retained::RetainedMemory;
pub use ticket_counter::TicketCounter;

/// Durable storage of a *horizon*: a Unix time in seconds, before which every tick may have been
/// used.
///
/// Its contract:
///
/// - When `raise` returns, the horizon is durable: a store that is opened later shows at least
///   that.
/// - It may be raised to the next multiple of 4 s, or a few of them higher after a failure;
///   `unix_s` shows what it is.
/// - After a `raise` that failed or was interrupted, the horizon in the medium is the old or the
///   new one. `unix_s` shows the old one, and `raise` may be retried.
/// - A horizon never decreases: raising it to a lower one succeeds and changes nothing.
/// - 0 means that nothing is readable: the device was never provisioned, or has lost its horizon. A
///   store need not distinguish these.
/// - A time that cannot be stored is refused.
///
/// It knows nothing of leases; [`Blocks`](crate::Blocks) does.
pub trait HorizonStore {
    /// Error of the medium.
    type Error;

    /// The horizon in seconds of Unix time; 0 when nothing is readable.
    fn unix_s(&self) -> u32;

    /// Raises the horizon durably, to at least `unix_s`.
    ///
    /// # Errors
    ///
    /// The error of the medium.
    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error>;
}

impl<S: HorizonStore + ?Sized> HorizonStore for &mut S {
    type Error = S::Error;

    fn unix_s(&self) -> u32 {
        (**self).unix_s()
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error> {
        (**self).raise(unix_s)
    }
}
