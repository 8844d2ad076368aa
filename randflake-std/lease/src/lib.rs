#![doc = include_str!("../README.md")]
#![doc = include_str!("blocking.md")]
#![doc = include_str!("faults.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backoff;
mod clock;
pub mod date;
mod fork_guard;
pub mod private_file;
mod rules;
mod secret;
mod store;
#[cfg(feature = "testkit")]
pub mod testkit;
mod types;

/// What engines are made of: their contract, and helpers for files, servers and URLs.
///
/// It changes without notice until 1.0.
pub mod unstable {
    pub use crate::fork_guard::ForkGuard;
    pub use crate::types::holder;

    /// Clocks of this machine, as leases are measured by them.
    pub mod clock {
        pub use crate::clock::{AnchoredClock, END, Exact, MonotonicTime, is_coarse, wall_exact};
    }

    /// The contract of an engine.
    pub mod engine {
        pub use crate::rules::{
            Before, Continuity, Entry, Key, Keys, Removal, VERSION, Write, WriteOutcome, newer,
            read_clock,
        };
        pub use crate::store::engine::{Ask, Engine, LOOK_AT_FILES_EVERY, Look, Profile, Reading};
        pub use crate::store::{LeaseStore, NAMES_LISTED};
    }

    /// The rules of leases and counters: pure functions over records.
    pub mod rules {
        pub use crate::rules::*;
    }

    /// URLs of engines, and how commands in messages quote them.
    pub mod url {
        pub use crate::store::url::*;
    }

    /// Lists of the namespaces in an engine.
    pub mod catalog {
        pub use crate::store::catalog::{all, any, find, names};
    }

    /// Addresses of servers, and what answers there.
    pub mod net {
        pub use crate::store::addresses::*;
    }

    /// Encrypted connections.
    pub mod tls {
        pub use crate::store::encryption::*;
    }

    /// Files under a lock, and the volumes that they are on.
    pub mod file {
        pub use crate::store::locked::*;
        pub use crate::store::volume;
    }

    /// The store of an assigned node id.
    pub mod assigned {
        pub use crate::store::{STATIC_ENGINE as ENGINE, StaticStore};
    }
}

pub use randflake_core::segment::MAX_NUMBER;

pub use clock::{ExactSystemClock, SystemClock};
pub use secret::{Secret, SecretError};
pub use store::{
    Administration, Catalog, Counter, DeviceLease, DeviceLeaseError, Devices, HistoryReader,
    LeaseStore, MemoryStore, NODE_ID_VARIABLE, NodeIdSource, StaticStore, deferred,
};
pub use types::holder::holder_of_process;
pub use types::{
    ASSUMED_MAX_TTL, AcquireRequest, Acquisition, ClientGrant, ClientRenewal, CounterError,
    CounterErrorKind, CounterPlace, CounterStatus, CounterTerms, CounterTermsError,
    DEFAULT_MAX_TTL, DatedNumbers, Device, DeviceError, DeviceRequest, EngineError,
    EngineErrorKind, Explanation, Finding, Gap, Grant, History, KeyCheck, LastWrite, Loss, Losses,
    MAX_COUNTER_STEP, MAX_SKEW, MAX_TTL_LIMIT, Namespace, NamespaceError, NamespaceList, NodeIds,
    PastLease, Period, Quarantine, QuarantineCause, Record, Renewal, RequestId, StoreError,
    StoreErrorKind, TickExplanation, Token, UnknownCause, Upgrade, UtcOffset, Verdict,
};
