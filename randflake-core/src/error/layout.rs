//! Errors of declaring a layout.

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
