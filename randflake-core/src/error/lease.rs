//! Errors of leases and their tickets.

use core::fmt::{self, Display, Formatter};

use super::out_of_range;

/// Error of making a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LeaseError {
    /// The node id is larger than the layout allows.
    NodeId {
        /// Node id that was given.
        value: u32,
        /// Largest node id of the layout.
        max: u32,
    },
    /// The interval holds no tick.
    Empty {
        /// First tick that was given.
        start: u64,
        /// End that was given, the first tick after the lease.
        end: u64,
    },
    /// The interval ends after the layout's last tick.
    BeyondLayout {
        /// End that was given.
        end: u64,
        /// Largest end that the layout allows.
        max: u64,
    },
    /// The interval has more ticks than the generator's word can count.
    TooLong {
        /// Number of ticks of the lease.
        ticks: u64,
        /// Most ticks that the word can count.
        max: u64,
    },
    /// The layout uses more bits than the permutation permutes: the highest would show.
    TooWide {
        /// Number of bits that the layout uses, from the lowest.
        bits: u32,
        /// Number of bits that the permutation permutes.
        max: u32,
    },
    /// The memory of a device's grant is blank.
    NotProvisioned,
    /// A device's grant is of another version than [that of the
    /// layout](crate::LayoutSpec::lease_version).
    GrantVersion {
        /// Version that was found.
        found: u32,
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
            Self::TooWide { bits, max } => {
                write!(
                    f,
                    "the layout has {bits} bits: the permutation of its ids allows at most {max}"
                )
            }
            Self::NotProvisioned => f.write_str(
                "the device is not provisioned: the memory of its grant is blank; write it with `randflake lease \
                 provision`",
            ),
            Self::GrantVersion { found } => write!(
                f,
                "the grant in the device's memory has version {found}: 1 is known, and 2 of layouts of up to 53 bits; use the \
                 firmware that it was written for, or provision the device anew"
            ),
        }
    }
}

impl core::error::Error for LeaseError {}

/// Error of extending a lease. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ExtendError {
    /// The extension has another layout, node id or start than the lease.
    Foreign,
    /// The lease has expired. A new lease needs a new generator.
    Expired {
        /// Time since it expired, in milliseconds.
        since_ms: u64,
    },
    /// The clock does not know the time, so the lease may have expired.
    ClockUnknown,
    /// The extension has more ticks than the generator's word can count.
    TooLong {
        /// Number of ticks of the lease.
        ticks: u64,
        /// Most ticks that the word can count.
        max: u64,
    },
    /// The generator was closed permanently.
    Closed,
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
            Self::Closed => f.write_str("the generator is closed"),
        }
    }
}

impl core::error::Error for ExtendError {}

/// Error of making a ticket for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MakeTicketError {
    /// No device accepts a ticket with this counter.
    Counter {
        /// Counter that was given.
        counter: u32,
        /// Largest counter allowed; the smallest is 1.
        max: u32,
    },
    /// The lease does not fit a ticket.
    Lease(LeaseError),
}

impl Display for MakeTicketError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { counter, max } => write!(
                f,
                "the ticket's counter is {counter}: 1 to {max} are allowed"
            ),
            Self::Lease(error) => write!(f, "the lease does not fit a ticket: {error}"),
        }
    }
}

impl core::error::Error for MakeTicketError {}

impl From<LeaseError> for MakeTicketError {
    fn from(error: LeaseError) -> Self {
        Self::Lease(error)
    }
}

/// Error of accepting a ticket. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TicketError {
    /// The ticket does not have 32 bytes.
    Length {
        /// Length of the ticket in bytes.
        len: usize,
    },
    /// The ticket is of another version than [that of the
    /// layout](crate::LayoutSpec::lease_version).
    Version {
        /// Version of the ticket.
        version: u8,
    },
    /// The tag is wrong: the ticket was changed, or made with another key.
    Forged,
    /// The ticket is for another device.
    Foreign {
        /// Device that the ticket is for.
        device_id: u64,
    },
    /// The ticket, or a newer one, was accepted before.
    Replayed {
        /// Counter of the ticket.
        counter: u32,
        /// Counter of the last accepted ticket.
        last: u32,
    },
    /// The counter is too large for a device to store.
    Counter {
        /// Counter of the ticket.
        counter: u32,
        /// Largest counter that a device can store.
        max: u32,
    },
    /// The lease is invalid for this layout.
    Malformed(LeaseError),
    /// The lease has expired.
    Expired {
        /// Time since it expired, in seconds.
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
                write!(
                    f,
                    "the ticket is of version {version}: 1 is allowed, and 2 for layouts of up to 53 bits"
                )
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
            Self::Counter { counter, max } => write!(
                f,
                "the ticket's counter is {counter}: at most {max} is allowed"
            ),
            Self::Malformed(error) => write!(f, "the ticket's lease is invalid: {error}"),
            Self::Expired { since_s } => {
                write!(f, "the ticket's lease expired {since_s} s ago")
            }
        }
    }
}

impl core::error::Error for TicketError {}
