#![doc = include_str!("../README.md")]
#![doc = include_str!("blocking.md")]
#![doc = include_str!("faults.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backoff;
mod clock;
pub mod date;
mod fork_guard;
pub mod private_file;
#[doc(hidden)] // For the model and the tests of this project.
pub mod rules;
mod secret;
#[doc(hidden)] // For the tests of this project.
pub mod store;
mod vocabulary;
mod wiped_stack;

/// What `randflake-std` uses beside the rest: it changes without notice.
#[doc(hidden)]
pub mod unstable {
    pub use crate::fork_guard::ForkGuard;
    pub use crate::vocabulary::holder;

    pub mod clock {
        pub use crate::clock::{AnchoredClock, END, Exact, MonotonicTime, is_coarse, wall_exact};
    }
}

pub use randflake_core::segment::MAX_NUMBER;

pub use clock::{ExactSystemClock, SystemClock};
pub use secret::{Secret, SecretError};
pub use store::engines::*;
pub use store::{
    DeviceLease, DeviceLeaseError, LeaseStore, StoreUrl, deferred, find, namespaces, open,
    open_counter, stored,
};
pub use vocabulary::holder::holder_of_process;
pub use vocabulary::{
    ASSUMED_MAX_TTL, AcquireRequest, Acquired, CounterError, CounterErrorKind, CounterPlace,
    CounterStatus, CounterTerms, CounterTermsError, DEFAULT_MAX_TTL, DatedNumbers, Device,
    DeviceError, DeviceRequest, EngineError, EngineErrorKind, Explained, Explanation, Finding, Gap,
    Grant, History, KeyCheck, LastWrite, Loss, Losses, MAX_COUNTER_STEP, MAX_SKEW, MAX_TTL_LIMIT,
    Namespace, NamespaceError, NamespaceList, NodeIds, PastLease, Period, PresentedGrant,
    PresentedRenewal, Quarantine, QuarantineCause, Record, Renewed, RequestId, StoreError,
    StoreErrorKind, Token, UnknownCause, Upgrade, UtcOffset, Verdict,
};
