//! One small `Copy` error for each operation; the fields hold what the caller needs to act.

mod lease;

use core::fmt::{self, Display, Formatter};

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
    /// The generator was closed; it never issues again.
    Closed,
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
    /// The generator was closed; it never issues again.
    Closed,
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
            | Self::Closed
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
            Self::Closed => GenerateErrorKind::Closed,
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
            // A closed member says nothing of the others: an expired lease, say, is what somebody
            // can do something about.
            (None, None) => matches!(self, Self::Closed),
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
            Self::Closed => f.write_str("the generator is closed"),
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

/// Error of declaring a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LayoutError {
    /// A field is wider than its number type.
    FieldTooWide {
        /// Name of the field that is too wide.
        name: &'static str,
        /// Width of the field in bits.
        bits: u32,
        /// Largest width allowed for it.
        most: u32,
    },
    /// A field does not lie within the 64 bits.
    FieldOutside {
        /// Name of the field that is outside.
        name: &'static str,
        /// Width of the field in bits.
        bits: u32,
        /// Position of its lowest bit.
        shift: u32,
    },
    /// Two fields share a bit.
    FieldsOverlap,
    /// Node id and sequence leave too few bits for the timestamp.
    TooFewTimestampBits {
        /// Bits of node id and sequence together.
        bits: u32,
        /// Largest sum of both allowed.
        most: u32,
    },
    /// The named parts of the node id are not as wide as it is.
    NodeFields {
        /// The bits of all parts.
        bits: u32,
        /// The bits of the node id.
        node_bits: u32,
    },
    /// The timestamp has no bit.
    NoTimestamp,
    /// The tick lasts 0 ms.
    NoTick,
    /// The last tick's time in milliseconds exceeds 64 bits.
    TimeOverflow,
}

impl Display for LayoutError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldTooWide { name, bits, most } => {
                write!(f, "the {name} has {bits} bits: at most {most} are allowed")
            }
            Self::FieldOutside { name, bits, shift } => {
                write!(
                    f,
                    "the {name}, {bits} bits shifted by {shift}, is not within the 64 bits of an id"
                )
            }
            Self::FieldsOverlap => f.write_str("two fields share a bit"),
            Self::TooFewTimestampBits { bits, most } => write!(
                f,
                "the node id and the sequence have {bits} bits together: at most {most} are allowed"
            ),
            Self::NodeFields { bits, node_bits } => write!(
                f,
                "the parts of the node id have {bits} bits together: its {node_bits} are allowed"
            ),
            Self::NoTimestamp => f.write_str("the timestamp has no bits: 1 to 63 are allowed"),
            Self::NoTick => f.write_str("the tick has no length: at least 1 ms is allowed"),
            Self::TimeOverflow => {
                f.write_str("the last tick's time is over 64 bits of milliseconds")
            }
        }
    }
}

impl core::error::Error for LayoutError {}

/// Error of composing fields to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FieldError {
    /// The time is before the layout's epoch.
    BeforeEpoch {
        /// The epoch in Unix milliseconds.
        epoch_unix_ms: u64,
    },
    /// The tick is after the last one of the layout.
    Timestamp {
        /// Tick that was given.
        tick: u64,
        /// Last tick of the layout.
        max: u64,
    },
    /// The node id is larger than the layout allows.
    NodeId {
        /// Node id that was given.
        value: u32,
        /// Largest node id of the layout.
        max: u32,
    },
    /// The sequence is larger than the layout allows.
    Sequence {
        /// Sequence that was given.
        value: u32,
        /// Largest sequence of the layout.
        max: u32,
    },
    /// A named part of the node id is out of range.
    NodePart {
        /// Name of the part in the layout.
        name: &'static str,
        /// Value that was given for the part.
        value: u32,
        /// The largest that the part holds.
        max: u32,
    },
    /// The number of values differs from the number of parts of the node id.
    NodeParts {
        /// Number of values that were given.
        given: usize,
        /// Number of parts of the node id.
        parts: usize,
    },
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, value, max) = match *self {
            Self::BeforeEpoch { epoch_unix_ms } => {
                return write!(
                    f,
                    "the time is before the layout's epoch, {epoch_unix_ms} ms"
                );
            }
            Self::Timestamp { tick, max } => return out_of_range(f, "tick", tick, max),
            Self::NodeId { value, max } => ("node id", value, max),
            Self::Sequence { value, max } => ("sequence", value, max),
            Self::NodePart { name, value, max } => (name, value, max),
            Self::NodeParts { given, parts } => {
                return write!(
                    f,
                    "{given} values for the {parts} parts of the node id: as many are allowed"
                );
            }
        };
        out_of_range(f, name, u64::from(value), u64::from(max))
    }
}

pub(super) fn out_of_range(f: &mut Formatter<'_>, name: &str, value: u64, max: u64) -> fmt::Result {
    write!(f, "{name} {value} is out of range: 0 to {max} are allowed")
}

impl core::error::Error for FieldError {}

/// Error of decoding a text to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DecodeError {
    /// The text is empty.
    Empty,
    /// The text is longer than that of any id.
    TooLong {
        /// Length of the text in bytes.
        len: usize,
    },
    /// The text begins with a superfluous zero.
    LeadingZero,
    /// A byte is not a digit.
    InvalidDigit {
        /// Position of the byte, from 0.
        index: usize,
        /// Value of the byte.
        byte: u8,
    },
    /// The number exceeds 64 bits.
    Overflow,
    /// The padding at the end of the text is missing. Only base64 has padding.
    Truncated,
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text is empty: 1 to 13 digits of 0-9a-v are allowed"),
            Self::TooLong { len } => {
                write!(f, "the text has {len} characters: at most 13 are allowed")
            }
            Self::LeadingZero => f.write_str("the text has a leading zero, which is not allowed"),
            Self::InvalidDigit { index, byte } => {
                write_byte(f, *byte, *index)?;
                f.write_str(" is not a digit: 0-9 and a-v are allowed")
            }
            Self::Overflow => {
                f.write_str("the number is over 64 bits: at most fvvvvvvvvvvvv is allowed")
            }
            Self::Truncated => f.write_str("the text's end is missing"),
        }
    }
}

/// Writes a byte of a text and its position, counted from 1. A byte above ASCII is only part of a
/// character, so it is shown as a number.
pub(crate) fn write_byte(f: &mut Formatter<'_>, byte: u8, index: usize) -> fmt::Result {
    let place = index.saturating_add(1);
    if byte.is_ascii() {
        let shown = char::from(byte).escape_default();
        write!(f, "'{shown}', character {place},")
    } else {
        write!(f, "byte 0x{byte:02x}, character {place},")
    }
}

impl core::error::Error for DecodeError {}
