//! Public types of leases and counters: requests, answers and errors.
//!
//! The lowest layer. Nothing here decides, reads or writes.

#[macro_use]
mod error;

mod administration;
pub(crate) mod counter;
mod counter_terms;
pub(crate) mod device;
mod grant;
mod history;
pub mod holder;
mod namespace;
mod terms;

use core::time::Duration;

pub use self::administration::Upgrade;
pub use self::administration::{Finding, Verdict};
pub use self::administration::{Quarantine, QuarantineCause};
pub use self::counter::{CounterError, CounterErrorKind, CounterPlace, CounterStatus};
pub use self::counter_terms::{CounterTerms, CounterTermsError, DatedNumbers, Period, UtcOffset};
pub use self::device::{Device, DeviceError, DeviceRequest, MAX_COUNTER_STEP};
pub use self::error::{EngineError, EngineErrorKind};
pub use self::error::{StoreError, StoreErrorKind};
pub use self::grant::Token;
pub use self::grant::{AcquireRequest, Acquisition, Grant, NodeIds, Record, Renewal};
pub use self::grant::{ClientGrant, ClientRenewal, LastWrite, RequestId};
pub use self::grant::{Loss, Losses};
pub use self::history::{Explanation, Gap, History, PastLease, TickExplanation, UnknownCause};
pub(crate) use self::history::{HISTORY_KEPT, NodeHistory};
pub use self::namespace::NamespaceList;
pub use self::namespace::{
    ASSUMED_MAX_TTL, DEFAULT_MAX_TTL, MAX_TTL_LIMIT, Namespace, NamespaceError,
};
pub use self::terms::{KeyCheck, Terms};

/// Largest difference allowed between the clocks of a store and its clients: 10 s.
pub const MAX_SKEW: Duration = Duration::from_secs(10);
