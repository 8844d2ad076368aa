//! Status codes of `randflake.h`, and the errors of the core that they stand for.

use core::ffi::{CStr, c_char};

use randflake_core::{GenerateError, HorizonError, LeaseError, TicketError};

include!(concat!(env!("OUT_DIR"), "/header.rs"));

/// The C type `rf_status`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(i32);

#[unsafe(no_mangle)]
extern "C" fn rf_error_text(status: Status) -> *const c_char {
    text_of(status).as_ptr()
}

impl From<GenerateError> for Status {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::ClockUnknown => CLOCK_UNKNOWN,
            GenerateError::ClockBehind { .. } => CLOCK_BEHIND,
            GenerateError::SequenceExhausted { .. } => SEQUENCE_EXHAUSTED,
            // The block has expired; the others are not of this generator.
            _ => NO_BLOCK,
        }
    }
}

impl<E> From<HorizonError<E>> for Status {
    fn from(error: HorizonError<E>) -> Self {
        match error {
            HorizonError::Lost => HORIZON_LOST,
            HorizonError::Provisioned => PROVISIONED,
            HorizonError::GrantUsed => GRANT_USED,
            // The layout ends before the last horizon there is, so what is left is that the store
            // showed another horizon than it was told, or failed.
            _ => HORIZON_STORE,
        }
    }
}

impl From<LeaseError> for Status {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::NodeId { .. } => NODE_ID,
            LeaseError::TooLong { .. } => BLOCK,
            LeaseError::NotProvisioned => NOT_PROVISIONED,
            LeaseError::GrantVersion { .. } => GRANT_VERSION,
            // Empty, or beyond the layout.
            _ => GRANT,
        }
    }
}

impl From<TicketError> for Status {
    fn from(error: TicketError) -> Self {
        match error {
            // Every slice of the header's length has the length.
            TicketError::Forged | TicketError::Length { .. } => TICKET_FORGED,
            TicketError::Foreign { .. } => TICKET_FOREIGN,
            TicketError::Counter { .. } => TICKET_COUNTER,
            TicketError::Replayed { .. } => TICKET_REPLAYED,
            TicketError::Malformed(_) => TICKET_LEASE,
            TicketError::Expired { .. } => TICKET_EXPIRED,
            // `Version`, and what a later core may add.
            _ => TICKET_VERSION,
        }
    }
}

/// Converts the result of a call to its status.
pub(crate) fn of(result: Result<(), Status>) -> Status {
    match result {
        Ok(()) => OK,
        Err(status) => status,
    }
}
