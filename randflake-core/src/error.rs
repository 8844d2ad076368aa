//! One small `Copy` error for each operation; the fields hold what the caller needs to act.

use core::fmt::{self, Display, Formatter};

/// Why no id was issued. Nothing was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GenerateError {
    /// The clock does not know the time yet.
    ClockUnknown,
    /// The clock is before the next unissued position, by more than the tolerance.
    ClockBehind {
        /// The time until an id can be issued, in milliseconds.
        behind_ms: u64,
    },
    /// Every sequence of the current tick has been issued.
    SequenceExhausted {
        /// The time until the next tick, in milliseconds.
        retry_in_ms: u64,
    },
    /// The lease has expired; a new one is needed.
    LeaseOver {
        /// How long ago it expired, in milliseconds; 0 if ids were borrowed up to its end.
        since_ms: u64,
    },
    /// The generator was sealed; it never issues again.
    Sealed,
    /// The machine's generation number has changed: another copy of this machine or process may hold the same leases.
    /// Only handles of `randflake-std` return it, until they have acquired other leases.
    Copied,
    /// This process is a forked child of the one that built the handle. Build one in the child. Only handles of
    /// `randflake-std` return it.
    InForkedChild,
}

impl GenerateError {
    /// The time after which a retry can succeed, in milliseconds; `None` if waiting does not help.
    #[must_use]
    pub const fn retry_in_ms(self) -> Option<u64> {
        match self {
            Self::ClockBehind { behind_ms: ms } | Self::SequenceExhausted { retry_in_ms: ms } => {
                Some(ms)
            }
            Self::ClockUnknown
            | Self::LeaseOver { .. }
            | Self::Sealed
            | Self::Copied
            | Self::InForkedChild => None,
        }
    }

    /// The more useful error for the caller of a pool: the one that passes soonest, otherwise one that is not final.
    pub(crate) const fn sooner(self, other: Self) -> Self {
        let other_is_sooner = match (self.retry_in_ms(), other.retry_in_ms()) {
            (Some(mine), Some(others)) => others < mine,
            (None, Some(_)) => true,
            (Some(_), None) => false,
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

/// Why a lease's interval was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LeaseError {
    /// The layout has no such node id.
    NodeId {
        /// The node id given.
        value: u32,
        /// The layout's largest.
        max: u32,
    },
    /// The interval holds no tick.
    Empty {
        /// The first tick given.
        start: u64,
        /// The first tick after it.
        end: u64,
    },
    /// The interval ends after the layout's last tick.
    BeyondLayout {
        /// The end given.
        end: u64,
        /// The largest end that is allowed.
        max: u64,
    },
    /// The interval has more ticks than the generator's word can count.
    TooLong {
        /// Its ticks.
        ticks: u64,
        /// The most that the word can count.
        max: u64,
    },
}

impl Display for LeaseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeId { value, max } => {
                out_of_range(f, "node id", u64::from(*value), u64::from(*max))
            }
            Self::Empty { start, end } => {
                write!(
                    f,
                    "the lease holds no tick: its end {end} must be after its start {start}"
                )
            }
            Self::BeyondLayout { end, max } => {
                write!(
                    f,
                    "the lease's end {end} is past the layout's last: at most {max} is allowed"
                )
            }
            Self::TooLong { ticks, max } => {
                write!(
                    f,
                    "the lease has {ticks} ticks: the generator's word counts at most {max}"
                )
            }
        }
    }
}

/// Why a lease was not extended. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ExtendError {
    /// The extension has another layout, node id or start than the lease.
    Foreign,
    /// The lease has expired. A new lease needs a new generator.
    Expired {
        /// How long ago it expired, in milliseconds.
        since_ms: u64,
    },
    /// The clock does not know whether the lease has expired.
    ClockUnknown,
    /// The extension has more ticks than the generator's word can count.
    TooLong {
        /// Its ticks.
        ticks: u64,
        /// The most that the word can count.
        max: u64,
    },
    /// The generator was sealed, for good.
    Sealed,
}

impl Display for ExtendError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => {
                f.write_str("the extension has another layout, node id or start than the lease")
            }
            Self::Expired { since_ms } => {
                write!(
                    f,
                    "the lease expired {since_ms} ms ago and cannot be extended"
                )
            }
            Self::ClockUnknown => {
                f.write_str("the clock does not know the time, so the lease may have expired")
            }
            Self::TooLong { ticks, max } => {
                write!(
                    f,
                    "the extension has {ticks} ticks: the generator's word counts at most {max}"
                )
            }
            Self::Sealed => f.write_str("the generator is sealed"),
        }
    }
}

/// Why a ticket was not accepted. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TicketError {
    /// The ticket does not have 32 bytes.
    Length {
        /// Its length in bytes.
        len: usize,
    },
    /// The ticket's version is unknown.
    Version {
        /// Which.
        version: u8,
    },
    /// The tag is wrong: the ticket was changed, or made with another key.
    Forged,
    /// The ticket is for another device.
    Foreign {
        /// Whose.
        device_id: u64,
    },
    /// The ticket, or a newer one, was accepted before.
    Replayed {
        /// Its counter.
        counter: u32,
        /// The counter of the last ticket that was accepted.
        last: u32,
    },
    /// The lease is invalid for this layout.
    Malformed(LeaseError),
    /// The lease has expired.
    Expired {
        /// For how long, in seconds.
        since_s: u64,
    },
}

impl Display for TicketError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => {
                write!(f, "the ticket has {len} bytes: 32 are allowed")
            }
            Self::Version { version } => {
                write!(f, "the ticket is of version {version}: 1 is allowed")
            }
            Self::Forged => {
                f.write_str("the ticket's tag is wrong: it was changed, or made with another key")
            }
            Self::Foreign { device_id } => {
                write!(f, "the ticket is of device {device_id:016x}")
            }
            Self::Replayed { counter, last } => write!(
                f,
                "the ticket's counter is {counter}: more than {last}, that of the last one, is allowed"
            ),
            Self::Malformed(error) => write!(f, "the ticket's lease is invalid: {error}"),
            Self::Expired { since_s } => {
                write!(f, "the ticket's lease expired {since_s} s ago")
            }
        }
    }
}

/// Why a device got no block of its grant. None was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum HorizonError<E> {
    /// The grant is used up or has expired; a new one is needed.
    GrantUsed,
    /// The lease to extend is not the last block's.
    Foreign,
    /// The block would end past 2106-02-07 06:28:15 UTC, the last horizon there is.
    OutOfRange,
    /// The horizon was not raised.
    Store(E),
}

impl<E> Display for HorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
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

/// Why a clock was not set. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SetClockError {
    /// The clock cannot show that time.
    OutOfRange,
    /// The clock is being set already, by what this interrupted.
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

/// Why fields could not be composed to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FieldError {
    /// The time is before the layout's epoch.
    BeforeEpoch {
        /// The epoch in Unix milliseconds.
        epoch_unix_ms: u64,
    },
    /// The tick is past the layout's last.
    Timestamp {
        /// The tick given.
        tick: u64,
        /// The last one.
        max: u64,
    },
    /// The layout has no such node id.
    NodeId {
        /// The node id given.
        value: u32,
        /// The layout's largest.
        max: u32,
    },
    /// The layout has no such sequence.
    Sequence {
        /// The sequence given.
        value: u32,
        /// The layout's largest.
        max: u32,
    },
    /// A named part of the node id is out of range.
    NodePart {
        /// Its name.
        name: &'static str,
        /// The value given.
        value: u32,
        /// The largest that the part holds.
        max: u32,
    },
    /// There are more or fewer values than the node id has parts.
    NodeParts {
        /// How many were given.
        given: usize,
        /// How many parts there are.
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

fn out_of_range(f: &mut Formatter<'_>, name: &str, value: u64, max: u64) -> fmt::Result {
    write!(f, "{name} {value} is out of range: 0 to {max} are allowed")
}

/// Why a text could not be decoded to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DecodeError {
    /// The text is empty.
    Empty,
    /// The text is longer than any id's.
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// The text begins with a zero that adds nothing.
    LeadingZero,
    /// A byte is not a digit.
    InvalidDigit {
        /// Where it stands, from 0.
        index: usize,
        /// The byte.
        byte: u8,
    },
    /// The number exceeds 64 bits.
    Overflow,
    /// The end of the text is missing: padding, which only base64 has.
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

/// A byte of a text, and which of its characters it is, counted from 1: those before it are digits. One over ASCII
/// is only a part of a character, so it is shown as a number.
pub(crate) fn write_byte(f: &mut Formatter<'_>, byte: u8, index: usize) -> fmt::Result {
    let place = index.saturating_add(1);
    if byte.is_ascii() {
        let shown = char::from(byte).escape_default();
        write!(f, "'{shown}', character {place},")
    } else {
        write!(f, "byte 0x{byte:02x}, character {place},")
    }
}

/// A buffer is too short for the text of all ids. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct BufferTooShort {
    /// The bytes of the buffer.
    pub len: usize,
    /// The bytes that the ids take with their separators.
    pub needed: usize,
}

impl Display for BufferTooShort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { len, needed } = self;
        write!(f, "the text takes {needed} bytes: the buffer has {len}")
    }
}

/// Why a layout is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LayoutError {
    /// A field is wider than its number type.
    FieldTooWide {
        /// Which.
        name: &'static str,
        /// Its width in bits.
        bits: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// A field does not lie within the 64 bits.
    FieldOutside {
        /// Which.
        name: &'static str,
        /// Its width in bits.
        bits: u32,
        /// Its shift.
        shift: u32,
    },
    /// Two fields share a bit.
    FieldsOverlap,
    /// The node id and the sequence take too much together.
    TooFewTimestampBits {
        /// The bits of both.
        bits: u32,
        /// The most that is allowed.
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

impl core::error::Error for GenerateError {}
impl core::error::Error for LeaseError {}
impl core::error::Error for ExtendError {}
impl core::error::Error for TicketError {}
impl core::error::Error for SetClockError {}
impl core::error::Error for FieldError {}
impl core::error::Error for BufferTooShort {}
impl core::error::Error for DecodeError {}
impl core::error::Error for LayoutError {}
