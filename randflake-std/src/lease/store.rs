//! The contract of a lease store.

use core::fmt::Debug;
use core::time::Duration;

use randflake_core::{AnyLayout, Lease, LeaseError};

use super::{Finding, Namespace, Quarantine, StoreError, Token};
use crate::ledger::{Loss, Seal};

/// The leases of one namespace, as a handle asks for them.
///
/// Every store is a [`Ledger`](crate::ledger::Ledger) over an engine; the rules are in [`ledger`](crate::ledger), and
/// what an engine must do is the contract of [`Engine`](crate::ledger::Engine). This trait is for those who
/// do not care which engine it is.
///
/// It is synchronous: one thread of a process, its keeper, calls it. A call may block for as long as the engine
/// takes; its time limit is well below the TTL.
pub trait LeaseStore: Send + Debug {
    /// The namespace that this store was opened for.
    fn namespace(&self) -> &Namespace;

    /// Says whether ids are plain or under which key, so that an acquire is refused where the namespace has others.
    fn seal(&mut self, seal: Seal);

    /// Grants all that the request asks for at once, or nothing.
    ///
    /// After [`StoreError::Unavailable`] the outcome is unknown; the same request, made again here, gets what the
    /// lost one was granted.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError>;

    /// Moves the end of each grant to `ttl` ticks from now, never back.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the TTL is over the namespace's longest, [`StoreError::ClockSkew`] when the
    /// store's clock has leapt since its last answer, and [`StoreError::Unavailable`]; the same renewal may be
    /// made again.
    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError>;

    /// Ends each grant at its `end`, which the caller has set to the first tick that was not used. What is not held
    /// any more stays as it is.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; the same release may be made again.
    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError>;

    /// Every record, in the order of node ids, also of leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn list(&mut self) -> Result<Vec<Record>, StoreError>;

    /// Grants nothing until every lease granted so far, also any that the store does not know of, has expired; says
    /// how long that takes. For an administrator who has restored a backup in a way that the store cannot notice.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    fn quarantine(&mut self) -> Result<Duration, StoreError>;

    /// Grants again at once, for an administrator who knows that no lease lives that the store has forgotten: on a
    /// new server, or after a quarantine that was set by a wrong clock.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    fn end_quarantine(&mut self) -> Result<(), StoreError>;

    /// The quarantine, if the namespace is in one. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError>;

    /// Removes the namespace's leases and terms; its counter stays. Whoever opens it again may bring another layout and
    /// secret, and waits in quarantine, as in a store that has lost its memory, until every lease of before has expired.
    /// Does nothing where the namespace is not there.
    ///
    /// Live leases are removed too: their holders go on until these leases end, and cannot renew them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    fn drop_namespace(&mut self) -> Result<(), StoreError>;

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn now(&mut self) -> Result<Duration, StoreError>;

    /// What the store says of itself, for `randflake doctor` and its like: see [`Finding`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]. What can be asked and is not as it should be is a finding, not an
    /// error.
    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError>;
}

impl<S: LeaseStore + ?Sized> LeaseStore for Box<S> {
    fn namespace(&self) -> &Namespace {
        (**self).namespace()
    }

    fn seal(&mut self, seal: Seal) {
        (**self).seal(seal);
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        (**self).acquire(request)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        (**self).renew(grants, ttl)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        (**self).release(grants)
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        (**self).list()
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        (**self).quarantine()
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        (**self).end_quarantine()
    }

    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        (**self).quarantined()
    }

    fn drop_namespace(&mut self) -> Result<(), StoreError> {
        (**self).drop_namespace()
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        (**self).now()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        (**self).diagnose()
    }
}

/// What an acquire asks for.
#[derive(Clone, Copy, Debug)]
pub struct AcquireRequest<'a> {
    /// Names the request; new for each, the same when it is repeated.
    pub token: Token,
    /// Who asks: names one process, for people and against repetition by a copy of it. At most 128 bytes,
    /// without control characters.
    pub holder: &'a str,
    /// Which node ids.
    pub nodes: NodeIds<'a>,
    /// For how many ticks, at least 1 and at most the namespace's longest TTL.
    pub ttl: u64,
}

/// Which node ids an acquire asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIds<'a> {
    /// So many, any that are free: at least 1.
    Any(u32),
    /// These and no others, each once.
    These(&'a [u32]),
}

impl NodeIds<'_> {
    /// How many.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Any(count) => *count,
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
    /// The node id.
    pub node_id: u32,
    /// The first tick.
    pub start: u64,
    /// The first tick after the grant.
    pub end: u64,
    /// Higher than that of any earlier grant of this node id, and at least `start`: what a resource
    /// compares to refuse a holder that was overtaken.
    pub fencing_token: u64,
    /// The acquire that it came from.
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
pub struct Acquired {
    /// As many as were asked for, of distinct node ids and in their order.
    pub grants: Vec<Grant>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// What became of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// For each grant, in the order given, its end now, or why it is not held any more.
    pub ends: Vec<Result<u64, Loss>>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// A lease as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Node id, interval and tokens.
    pub grant: Grant,
    /// A copy of its holder has tried to renew it: both have issued the same ids since they were copied.
    pub contested: bool,
    /// Who acquired it.
    pub holder: String,
}
