//! Leases: who may use which node id, and when.
//!
//! **Start here:** [`open`] opens a store by its URL, for a [`Namespace`]; a [`Builder`](crate::Builder) takes it.
//! Without a server, use `SqliteStore`; with assigned node ids, [`StaticStore`]; in tests, [`MemoryStore`].
//!
//! Uniqueness rests on one promise of the store, which the contract tests check for each: **all intervals of ticks ever
//! granted for one node id are disjoint**, over all holders and all restarts. A holder that was paused past the end of
//! its lease can stamp only ticks of its own interval, so no other fencing is needed.
#![doc = include_str!("blocking.md")]
#![doc = include_str!("faults.md")]

pub use crate::store::engines::*;
pub use crate::store::{DeviceLease, DeviceLeaseError};
pub use crate::store::{LeaseStore, Occupancy, deferred, find, namespaces, occupancy, open};
pub use crate::store::{StoreUrl, stored};
pub use crate::vocabulary::KeyCheck;
pub use crate::vocabulary::holder::holder_of_process;
pub use crate::vocabulary::{
    ASSUMED_MAX_TTL, AcquireRequest, Acquired, DEFAULT_MAX_TTL, Device, DeviceError, DeviceRequest,
    EngineError, EngineErrorKind, Explained, Explanation, Finding, Gap, Grant, History, LastWrite,
    Loss, MAX_COUNTER_STEP, MAX_SKEW, MAX_TTL_LIMIT, Namespace, NamespaceError, NamespaceList,
    NodeIds, PastLease, PresentedGrant, PresentedRenewal, Quarantine, QuarantineCause, Record,
    Renewed, RequestId, StoreError, StoreErrorKind, Token, UnknownCause, Upgrade, Verdict,
};
