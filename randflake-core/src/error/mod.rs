//! One small `Copy` error for each operation; the fields hold what the caller needs to act.

mod layout;
mod lease;

use core::fmt::{self, Display, Formatter};

pub(crate) use layout::write_byte;
pub use layout::{DecodeError, FieldError, LayoutError};
pub use lease::{ExtendError, LeaseError, MakeTicketError, TicketError};

// Messages say what is wrong, what was found and what is allowed; units are in the names of the
// fields.

/// Error of generating an id. Nothing was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GenerateError {
    /// The clock does not know the time yet.
    ClockUnknown,
    /// The clock is before the next unissued position, by more than the tolerance.
    ClockBehind {
        /// Time until an id can be issued, in milliseconds.
        behind_ms: u64,
    },
    /// Every sequence of the current tick has been issued.
    SequenceExhausted {
        /// Time until the next tick, in milliseconds.
        retry_in_ms: u64,
    },
    /// The lease has expired; a new one is needed.
    LeaseOver {
        /// Time since it expired in milliseconds; 0 if ids were borrowed up to its end.
        since_ms: u64,
    },
    /// The generator was sealed; it never issues again.
    Sealed,
    /// The machine's generation number has changed: another copy of this machine or process may
    /// hold the same leases. Only handles of `randflake-std` return it, until they have acquired
    /// other leases.
    Copied,
    /// This process is a forked child of the one that built the handle. Build one in the child.
    /// Only handles of `randflake-std` return it.
    InForkedChild,
}

/// Kind of a [`GenerateError`], in one byte and without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GenerateErrorKind {
    /// The clock does not know the time yet.
    ClockUnknown,
    /// The clock is before the next unissued position: a retry can succeed.
    ClockBehind,
    /// Every sequence of the current tick has been issued: a retry can succeed in the next one.
    SequenceExhausted,
    /// The lease has expired; a new one is needed.
    LeaseOver,
    /// The generator was sealed; it never issues again.
    Sealed,
    /// The machine's generation number has changed. See [`GenerateError::Copied`].
    Copied,
    /// This process is a forked child. See [`GenerateError::InForkedChild`].
    InForkedChild,
}

impl GenerateError {
    /// Time after which a retry can succeed in milliseconds; `None` if waiting does not help.
    #[must_use]
    pub const fn retry_in_ms(self) -> Option<u64> {
        match self {
            Self::ClockBehind { behind_ms: ms } | Self::SequenceExhausted { retry_in_ms: ms } => {
                Some(ms)
            }
            // No time alone cures these: a clock must be set, or another lease or handle taken.
            Self::ClockUnknown
            | Self::LeaseOver { .. }
            | Self::Sealed
            | Self::Copied
            | Self::InForkedChild => None,
        }
    }

    /// Returns the kind of the error, in one byte.
    ///
    /// On a microcontroller `generate().map_err(GenerateError::kind)` removes the code that
    /// computes milliseconds: 116 of 500 bytes on a Cortex-M0.
    ///
    /// ```
    /// use randflake_core::{Generator, GenerateError, GenerateErrorKind, Lease, LocalWord, ManualClock, Randflake, Sparx64};
    ///
    /// let clock = ManualClock::at_unix_ms(1_733_706_296_500); // half a second before the lease
    /// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
    /// let ids = Generator::<Randflake, LocalWord<u32>, _>::new(lease, &clock, Sparx64::new(&[7; 16]))?;
    /// let refused = ids.generate().map_err(GenerateError::kind);
    /// assert_eq!(refused, Err(GenerateErrorKind::ClockBehind));
    /// assert_eq!(size_of_val(&refused.unwrap_err()), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn kind(self) -> GenerateErrorKind {
        match self {
            Self::ClockUnknown => GenerateErrorKind::ClockUnknown,
            Self::ClockBehind { .. } => GenerateErrorKind::ClockBehind,
            Self::SequenceExhausted { .. } => GenerateErrorKind::SequenceExhausted,
            Self::LeaseOver { .. } => GenerateErrorKind::LeaseOver,
            Self::Sealed => GenerateErrorKind::Sealed,
            Self::Copied => GenerateErrorKind::Copied,
            Self::InForkedChild => GenerateErrorKind::InForkedChild,
        }
    }

    /// Chooses the more useful of two errors of a pool: the one that passes sooner, otherwise the
    /// one that is not final.
    pub(crate) const fn sooner(self, other: Self) -> Self {
        let other_is_sooner = match (self.retry_in_ms(), other.retry_in_ms()) {
            (Some(this), Some(other)) => other < this,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            // A sealed member says nothing of the others: an expired lease, say, is what somebody
            // can do something about.
            (None, None) => matches!(self, Self::Sealed),
        };
        if other_is_sooner { other } else { self }
    }
}

impl Display for GenerateError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClockUnknown => f.write_str("the clock does not know the time yet"),
            Self::ClockBehind { behind_ms } => {
                write!(
                    f,
                    "the clock is {behind_ms} ms behind the next tick to issue ids of"
                )
            }
            Self::SequenceExhausted { retry_in_ms } => {
                write!(
                    f,
                    "the tick's ids are all issued, the next tick is in {retry_in_ms} ms"
                )
            }
            // Borrowed up to the end: by the clock it has not expired yet.
            Self::LeaseOver { since_ms: 0 } => f.write_str("the lease has expired"),
            Self::LeaseOver { since_ms } => write!(f, "the lease expired {since_ms} ms ago"),
            Self::Sealed => f.write_str("the generator is sealed"),
            Self::Copied => f.write_str(
                "the generation number has changed, so a copy of this process may have the same leases: others \
                 are being acquired",
            ),
            Self::InForkedChild => f.write_str(
                "a forked child must not use its parent's leases: build a handle of its own",
            ),
        }
    }
}

impl core::error::Error for GenerateError {}

/// Error of beginning or extending a block of a grant. No block was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum HorizonError<E> {
    /// The store has no readable horizon: it was never provisioned, or was erased or damaged. How
    /// much of the grant was used is unknown, so it must not be used again. Provision an unused
    /// grant.
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
