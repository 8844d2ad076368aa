//! Requests and answers of lease stores.

use core::time::Duration;

use randflake_core::{AnyLayout, Lease, LeaseError};

use super::Loss;
use super::{ClientGrant, LastWrite, Token};

/// Request to acquire node ids.
#[derive(Clone, Copy, Debug)]
pub struct AcquireRequest<'a> {
    /// Names the request: new for each one, the same when it is repeated.
    pub token: Token,
    /// Names the process, for people and to tell it from a copy. At most 128 bytes, without control characters.
    pub holder: &'a str,
    /// Node ids to acquire.
    pub nodes: NodeIds<'a>,
    /// Length of the leases in ticks, at least 1 and at most the namespace's longest TTL.
    pub ttl: u64,
}

/// Node ids to acquire: any, or chosen ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIds<'a> {
    /// This number of any free node ids, at least 1.
    Any(u32),
    /// Exactly these node ids, each once.
    These(&'a [u32]),
}

impl NodeIds<'_> {
    /// Number of node ids requested.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Any(count) => *count,
            // No cut: so long a list names a node id twice, and the rule refuses it.
            Self::These(chosen) => u32::try_from(chosen.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether a node id is one of them.
    pub(crate) fn allow(&self, node_id: u32) -> bool {
        match self {
            Self::Any(_) => true,
            Self::These(chosen) => chosen.contains(&node_id),
        }
    }
}

/// A node id granted for an interval of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Node id that was granted.
    pub node_id: u32,
    /// First tick of the grant.
    pub start: u64,
    /// The first tick after the grant.
    pub end: u64,
    /// Higher than that of any earlier grant of this node id, and at least `start`. A resource compares it to refuse a
    /// stale holder.
    pub fencing_token: u64,
    /// Token of the acquire that it came from.
    pub token: Token,
}

impl Grant {
    /// The lease to make a generator of.
    ///
    /// # Errors
    ///
    /// [`LeaseError`] when the layout has no such node id or interval.
    pub fn lease<L: AnyLayout>(&self, layout: L) -> Result<Lease<L>, LeaseError> {
        Lease::new(layout, self.node_id, self.start, self.end)
    }
}

/// What an acquire granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// As many as were asked for, of distinct node ids and in their order.
    pub grants: Vec<Grant>,
    /// For each grant, the write that made it: who renews it elsewhere [presents](ClientGrant) it.
    pub last_writes: Vec<LastWrite>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

impl Acquisition {
    /// The grants as a holder elsewhere presents them at the first renewal.
    #[must_use]
    pub fn client_grant(&self) -> Vec<ClientGrant> {
        let grants = self.grants.iter().zip(&self.last_writes);
        grants
            .map(|(&grant, &last_write)| ClientGrant { grant, last_write })
            .collect()
    }
}

/// The outcome of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// For each grant, in the order given, its new end, or why it is no longer held.
    pub ends: Vec<Result<u64, Loss>>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// A lease as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Node id, interval and tokens.
    pub grant: Grant,
    /// A copy of its holder has tried to renew it: both have issued the same ids since the copy was made.
    pub contested: bool,
    /// Name of the holder.
    pub holder: String,
    /// The highest version of records that the holder knew at its last write.
    pub version: u8,
}
