//! Errors of horizons and clocks.

use core::fmt::{self, Display, Formatter};

/// Error of beginning or extending a block of a grant. No block was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum HorizonError<E> {
    /// The store has no readable horizon: it was never provisioned, or was erased or damaged. How much of the grant
    /// was used is unknown, so it must not be used again. Provision an unused grant.
    Lost,
    /// The store already has a horizon; it was left unchanged.
    Provisioned,
    /// The grant is used up or has expired. A new one is needed.
    GrantUsed,
    /// The lease to extend is not that of the last block.
    Foreign,
    /// The block would end after 2106-02-07 06:28:15 UTC, the last horizon that can be stored.
    OutOfRange,
    /// The store failed to raise the horizon.
    Store(E),
}

impl<E> Display for HorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => {
                "no horizon is readable: the device was not provisioned, or has lost it; a grant that nobody has used \
                 is needed"
            }
            Self::Provisioned => "the device has a horizon already",
            Self::GrantUsed => "the grant is used up",
            Self::Foreign => "the lease is not that of the last block",
            Self::OutOfRange => {
                "the block would end past 2106-02-07 06:28:15 UTC, the last horizon that is allowed"
            }
            Self::Store(_) => "the horizon was not raised",
        })
    }
}

impl<E: core::error::Error + 'static> core::error::Error for HorizonError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// Error of setting a clock. The clock is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SetClockError {
    /// The time is out of the range of the clock.
    OutOfRange,
    /// Another setting is in progress, which this call interrupted.
    Busy,
}

impl Display for SetClockError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => {
                "the clock cannot show that time: from when it started, if that was in 1970, to \
                 2106-02-07 06:28:15 UTC is allowed"
            }
            Self::Busy => "the clock is being set already",
        })
    }
}

impl core::error::Error for SetClockError {}
