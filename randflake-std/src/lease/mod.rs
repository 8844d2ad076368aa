//! Leases: who may use which node id, and when.
//!
//! **Start here:** [`open`] opens a store by its URL, for a [`Namespace`]; a [`Builder`](crate::Builder) takes it.
//! Without a server, use `SqliteStore`; with assigned node ids, [`StaticStore`]; in tests, [`MemoryStore`].
//!
//! All but [`occupancy`](occupancy()) is of the crate [`randflake_lease`], which has [how long calls
//! block](randflake_lease#how-long-calls-block) and what becomes of leases under faults.

mod occupancy;

pub use randflake_lease::{
    ASSUMED_MAX_TTL, AcquireRequest, Acquired, DEFAULT_MAX_TTL, Device, DeviceError, DeviceLease,
    DeviceLeaseError, DeviceRequest, EngineError, EngineErrorKind, Explained, Explanation, Finding,
    Gap, Grant, History, KeyCheck, LastWrite, LeaseStore, Loss, MAX_COUNTER_STEP, MAX_SKEW,
    MAX_TTL_LIMIT, MemoryStore, NODE_ID_VARIABLE, Namespace, NamespaceError, NamespaceList,
    NodeIdSource, NodeIds, PastLease, PresentedGrant, PresentedRenewal, Quarantine,
    QuarantineCause, Record, Renewed, RequestId, StoreError, StoreErrorKind, Token, UnknownCause,
    Upgrade, Verdict, deferred, holder_of_process,
};

pub use self::occupancy::{Occupancy, occupancy};
pub use crate::url::*;
