//! Device records: the owner of a device and the counter of its last ticket.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use super::{EngineError, StoreError};
use crate::backoff::Retry;

/// Largest step of a counter from one ticket to the next.
///
/// A device that accepts a ticket refuses all with lower counters for good. So nobody can use up a
/// device's counters, 2^30 of them, in a few requests; and a server that has lost some of the last
/// replies still reaches the device.
pub const MAX_COUNTER_STEP: u32 = 1_000;
/// `Ticket::MAX_COUNTER`, also in builds without tickets.
pub(crate) const MAX_COUNTER: u32 = (1 << 30) - 1;
/// Longest name of an owner, as long as the longest name of a token.
pub(crate) const MAX_OWNER: usize = 64;

/// What a store keeps of a device that gets its leases by tickets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The token of the server whose holder gets tickets for it; empty: only who operates the
    /// store.
    pub owner: String,
    /// The counter of its last ticket, 0 if it had none.
    pub last_counter: u32,
}

/// Request for a device record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceRequest<'a> {
    /// Only reads the record.
    Look,
    /// Takes the counter of the next ticket: it is stored before the ticket is made. One that is
    /// then not used does no harm.
    NextTicket {
        /// The token of who asks; `None`: who operates the store, who may do this for any device.
        owner: Option<&'a str>,
        /// At least one more than the last, at most [`MAX_COUNTER_STEP`] more; one more unless
        /// given.
        counter: Option<u32>,
    },
    /// Makes the record of a device that has none, with counter 0. Of two callers at once only one
    /// succeeds.
    New {
        /// Its owner; empty: only who operates the store.
        owner: &'a str,
    },
    /// Makes the record, sets a counter that was lost, or moves the device to another owner: for an
    /// administrator.
    Register {
        /// Its owner from now on. Unless given, the owner stays; a new device has none.
        owner: Option<&'a str>,
        /// The counter that the device reports as its last, 0 for a new device. Unless given, the
        /// counter stays.
        reported: Option<u32>,
    },
}

/// Error of an operation on a device record.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceError {
    /// The store has no record of the device: it is new, or the store has forgotten it.
    Unknown {
        /// Number of the device.
        device_id: u64,
    },
    /// The store has a record of the device, which is not new.
    Known {
        /// Number of the device.
        device_id: u64,
    },
    /// The device is not that owner's.
    NotOwned {
        /// Number of the device.
        device_id: u64,
        /// Owner that asked for it.
        owner: String,
    },
    /// The counter is too low, or rises by too much.
    Counter {
        /// Number of the device.
        device_id: u64,
        /// Counter that was requested.
        counter: u32,
        /// The counter of the last ticket.
        last: u32,
    },
    /// The counter has reached its end: the device needs another key of tickets, and begins at 0
    /// under it.
    Exhausted {
        /// Number of the device.
        device_id: u64,
    },
    /// The store refused or failed.
    Store(StoreError),
}

impl Display for DeviceError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { device_id } => write!(
                f,
                "device {device_id:016x} is not known here: an administrator registers it, with counter 0 if it is new, or \
                 with the counter that it reports"
            ),
            Self::Known { device_id } => write!(f, "device {device_id:016x} is registered already"),
            Self::NotOwned { device_id, owner } => write!(
                f,
                "device {device_id:016x} is none of {owner:?}: an administrator registers or moves it"
            ),
            Self::Counter {
                device_id,
                counter,
                last,
            } => write!(
                f,
                "counter {counter} of device {device_id:016x}: {} to {} are allowed after {last}",
                // The bounds of the rule, which allows none above the highest counter.
                last.saturating_add(1).min(MAX_COUNTER),
                last.saturating_add(MAX_COUNTER_STEP).min(MAX_COUNTER)
            ),
            Self::Exhausted { device_id } => write!(
                f,
                "the counter of device {device_id:016x} has reached its end, {MAX_COUNTER}: give it another key of tickets, \
                 and register it with counter 0"
            ),
            Self::Store(error) => Display::fmt(error, f),
        }
    }
}

impl Error for DeviceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            _ => None,
        }
    }
}

impl From<StoreError> for DeviceError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<EngineError> for DeviceError {
    fn from(error: EngineError) -> Self {
        Self::Store(error.into())
    }
}

impl From<&DeviceError> for Retry {
    fn from(error: &DeviceError) -> Self {
        match error {
            // Only the store's own failures pass with time.
            DeviceError::Store(error) => error.into(),
            _ => Self::Never,
        }
    }
}
