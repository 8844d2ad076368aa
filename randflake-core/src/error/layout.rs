//! Errors of layouts, of the fields of an id and of its text.

use core::fmt::{self, Display, Formatter};

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
