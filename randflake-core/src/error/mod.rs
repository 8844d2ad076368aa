//! One small `Copy` error for each operation; the fields hold what the caller needs to act.

// Messages say what is wrong, what was found and what is allowed; units are in the names of the fields.
mod clock;
mod generate;
mod id;
mod layout;
mod lease;

pub use clock::{HorizonError, SetClockError};
pub use generate::{GenerateError, GenerateErrorKind};
pub(crate) use id::write_byte;
pub use id::{DecodeError, FieldError};
pub use layout::LayoutError;
pub use lease::{ExtendError, LeaseError, MakeTicketError, TicketError};
