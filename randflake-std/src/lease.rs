//! Leases: who may use which node id, and when.
//!
//! **Start here:** [`open`] opens a store by its URL, for a [`Namespace`]; a
//! [`Builder`](crate::Builder) takes it. Without a server, use `SqliteStore`; with assigned node
//! ids, [`StaticStore`]; in tests, [`MemoryStore`].
//!
//! All but [`occupancy`](occupancy()) is of the crate [`randflake_lease`], which has [how long
//! calls block](randflake_lease#how-long-calls-block) and what becomes of leases under faults.

pub use randflake_lease::{
    ASSUMED_MAX_TTL, AcquireRequest, Acquisition, Administration, Catalog, ClientGrant,
    ClientRenewal, Counter, DEFAULT_MAX_TTL, Device, DeviceError, DeviceLease, DeviceLeaseError,
    DeviceRequest, Devices, EngineError, EngineErrorKind, Explanation, Finding, Gap, Grant,
    History, HistoryReader, KeyCheck, LastWrite, LeaseStore, Loss, MAX_COUNTER_STEP, MAX_SKEW,
    MAX_TTL_LIMIT, MemoryStore, NODE_ID_VARIABLE, Namespace, NamespaceError, NamespaceList,
    NodeIdSource, NodeIds, PastLease, Quarantine, QuarantineCause, Record, Renewal, RequestId,
    StoreError, StoreErrorKind, TickExplanation, Token, UnknownCause, Upgrade, Verdict, deferred,
    holder_of_process,
};

pub use crate::url::*;

use crate::observability::metrics;

/// How many node ids of a namespace are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Node ids whose leases have not expired.
    pub live: u64,
    /// All node ids of the namespace.
    pub total: u64,
}

/// Counts the live leases, and sets the metric `randflake_occupancy_ratio` with the feature
/// `metrics`.
///
/// It reads every record: call it every few minutes in one process of a fleet, not in each. It
/// blocks: see [how long](randflake_lease#how-long-calls-block).
///
/// # Errors
///
/// [`StoreError::Unavailable`].
///
/// ```
/// use randflake_std::lease::{AcquireRequest, MemoryStore, Namespace, NodeIds, Token, occupancy};
/// use randflake_std::randflake_core::ManualClock;
/// use randflake_std::Randflake;
/// use std::sync::Arc;
///
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let mut store = MemoryStore::new(Namespace::new("orders", Randflake)?, clock);
/// let token = Token::random()?;
/// store.acquire(&AcquireRequest { token, holder: "example", nodes: NodeIds::Any(3), ttl: 60 })?;
/// let occupancy = occupancy(&mut store)?;
/// assert_eq!((occupancy.live, occupancy.total), (3, 131_072));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn occupancy(store: &mut LeaseStore) -> Result<Occupancy, StoreError> {
    // The time first: a lease that is granted in between has not begun then, and is live.
    let now = store.now()?;
    let records = store.list()?;
    let namespace = store.namespace();
    // At 0, before the epoch, all leases are live.
    let tick = namespace.spec().tick_at(now).unwrap_or_default();
    let live = records.iter().filter(|record| tick < record.grant.end);
    let occupancy = Occupancy {
        live: live.count() as u64,
        total: namespace.node_ids(),
    };
    metrics::occupancy(namespace.name(), occupancy.live, occupancy.total);
    Ok(occupancy)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use randflake_core::{ManualClock, Randflake};
    use randflake_lease::{AcquireRequest, MemoryStore, Namespace, NodeIds, Token};

    use super::*;

    #[test]
    fn lease_counts_until_it_expires() {
        let clock = Arc::new(ManualClock::at_unix_ms(1_800_000_000_000));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let mut store = LeaseStore::from(MemoryStore::new(namespace, Arc::clone(&clock)));
        let total = store.namespace().node_ids();
        for (nodes, ttl) in [(NodeIds::Any(2), 59), (NodeIds::Any(1), 60)] {
            let token = Token::random().unwrap();
            let request = AcquireRequest {
                token,
                holder: "holder",
                nodes,
                ttl,
            };
            store.acquire(&request).unwrap();
        }
        for (pass_s, live) in [(0, 3), (58, 3), (1, 1), (1, 0)] {
            clock.advance_ms(1_000 * pass_s);
            assert_eq!(occupancy(&mut store).unwrap(), Occupancy { live, total });
        }
    }
}
