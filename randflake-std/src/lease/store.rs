//! The contract of a lease store.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;

use randflake_core::segment::Segment;
use randflake_core::{AnyLayout, Layout, Lease, LeaseError};

use super::{Finding, Namespace, Token};

/// Where the leases of one namespace are kept.
///
/// It is synchronous: one thread of a process, its keeper, calls it. A call may block for as long as
/// the backend takes; give it a time limit well below the TTL.
///
/// # Contract
///
/// All ticks are those of the namespace's layout; `now` is the store's clock, read once in each
/// operation, after the operation's lock or transaction has begun.
///
/// 1. **Disjoint.** For one node id, all granted intervals `[start, end)` are pairwise disjoint, over
///    all holders, restarts and clock jumps.
/// 2. **Acquire** takes only records with `tick(now) >= end` (or none yet), sets
///    `start = max(tick(now), end)`, `end = start + ttl`, raises the record's `fencing_token`, and
///    stores token and holder. It grants all the node ids asked for or changes nothing.
/// 3. **Repeating** an acquire with the same token and holder while its grants are live returns the
///    same grants; with the same token and *another* holder it is refused as [`StoreError::Foreign`].
/// 4. **Renew** compares node id, fencing token and token, and demands `tick(now) < end`; then
///    `end = max(end, tick(now) + ttl)`. Repeating it does no harm.
/// 5. **Release** compares the same and sets `end` to the given end, never to a later one nor to one
///    before `start`. Releasing what is not held any more does nothing.
/// 6. **Durable.** A grant, renewal or release that was answered survives a crash of the store.
/// 7. **Amnesia.** The store keeps a fingerprint of its continuity. If that changed or is missing
///    where it should be, acquires are refused as [`StoreError::Fenced`] until the longest TTL and
///    the allowed skew have passed, so that every lease it may have forgotten is over.
/// 8. The cost of an operation does not grow with the number of leases.
pub trait LeaseStore: Send + Debug {
    /// The namespace that this store was opened for.
    fn namespace(&self) -> &Namespace;

    /// Grants `request.count` node ids at once.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was granted, unless it is [`StoreError::Unavailable`], after which the
    /// outcome is unknown and the same request may be repeated.
    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError>;

    /// Moves the end of each grant to `ttl` ticks from now.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the TTL is over the namespace's longest, and
    /// [`StoreError::Unavailable`], after which the same renewal may be repeated.
    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError>;

    /// Ends each grant at its `end`, which the caller has set to the first tick that was not used.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; the same release may be repeated.
    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError>;

    /// Every record, in the order of node ids, also of leases that are over.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn list(&mut self) -> Result<Vec<Record>, StoreError>;

    /// Refuses acquires until every lease granted so far, also any that the store does not know of,
    /// is over; says how long that takes. For an administrator who has restored a backup in a way
    /// that the store cannot notice.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn fence(&mut self) -> Result<Duration, StoreError>;

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn now(&mut self) -> Result<Duration, StoreError>;

    /// What the store says of itself, for `randflake doctor` and its like: see [`Finding`].
    ///
    /// Unless a store implements it, it tells nothing: an empty list.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]. What can be asked and is not as it should be is a finding, not an
    /// error.
    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }
}

impl<S: LeaseStore + ?Sized> LeaseStore for Box<S> {
    fn namespace(&self) -> &Namespace {
        (**self).namespace()
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

    fn fence(&mut self) -> Result<Duration, StoreError> {
        (**self).fence()
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
    /// How many node ids, at least 1.
    pub count: u32,
    /// For how many ticks, at least 1 and at most the namespace's longest TTL.
    pub ttl: u64,
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
    pub fn lease<L: Layout>(&self) -> Result<Lease<L>, LeaseError> {
        self.lease_of(L::default())
    }

    /// [`lease`](Grant::lease) of a layout made at run time, too.
    ///
    /// # Errors
    ///
    /// As for `lease`.
    pub fn lease_of<L: AnyLayout>(&self, layout: L) -> Result<Lease<L>, LeaseError> {
        Lease::of(layout, self.node_id, self.start, self.end)
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
    /// For each grant, in the order given, its end now; `None` when it is not held any more.
    pub ends: Vec<Option<u64>>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// A lease as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Node id, interval and tokens.
    pub grant: Grant,
    /// Who acquired it.
    pub holder: String,
}

/// Why a store did not do what was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Fewer node ids are free than were asked for.
    Exhausted {
        /// How long until enough leases end, unless they are renewed.
        retry_in: Duration,
    },
    /// The store lost its continuity and waits until every lease that it may have forgotten is over.
    Fenced {
        /// How long that takes.
        retry_in: Duration,
    },
    /// The clocks of the store and of this machine differ too much.
    ClockSkew {
        /// The store's, as time since the Unix epoch.
        store: Duration,
        /// This machine's.
        here: Duration,
    },
    /// The store lost its continuity, so its counter may have gone back or be forgotten: see
    /// [`SegmentStore::resume`](crate::segment::SegmentStore::resume).
    CounterLost {
        /// Where the counter is known to have stood at least; 1 if the store knows nothing of it.
        reached: u64,
    },
    /// The token of an acquire belongs to another holder: two copies of one process are running.
    Foreign,
    /// What was asked is outside the allowed range: the sentence says what is allowed.
    Invalid(String),
    /// The store does not fit what it is used for, and will not without a change: the sentence says
    /// why.
    Unusable(String),
    /// The backend failed or did not answer.
    Unavailable(Box<dyn Error + Send + Sync>),
}

impl StoreError {
    /// A failure of the backend.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }

    /// The next numbers of a counter that stands at `next`.
    pub(crate) fn segment(next: u64, count: u64) -> Result<Segment, Self> {
        Segment::new(next, count).map_err(|error| Self::Invalid(error.to_string()))
    }

    /// Checks what an acquire asks for.
    pub(crate) fn check(
        request: &AcquireRequest<'_>,
        namespace: &Namespace,
        max_ttl: Duration,
    ) -> Result<(), Self> {
        let AcquireRequest {
            holder, count, ttl, ..
        } = *request;
        if !crate::holder::is_allowed(holder) {
            return Err(Self::Invalid(format!(
                "a holder's name of {} bytes or with control characters: at most {} bytes without them are \
                 allowed",
                holder.len(),
                crate::holder::MAX_LEN
            )));
        }
        if count == 0 || u64::from(count) > namespace.node_ids() {
            let most = namespace.node_ids();
            return Err(Self::Invalid(format!(
                "{count} node ids asked for: 1 to {most} are allowed"
            )));
        }
        Self::check_ttl(ttl, namespace, max_ttl)
    }

    /// Checks the TTL of an acquire or a renewal, in ticks.
    pub(crate) fn check_ttl(
        ttl: u64,
        namespace: &Namespace,
        max_ttl: Duration,
    ) -> Result<(), Self> {
        let max_ttl_ticks = namespace.ticks(max_ttl);
        if ttl == 0 || ttl > max_ttl_ticks {
            let tick_ms = namespace.spec().tick_ms();
            return Err(Self::Invalid(format!(
                "a TTL of {ttl} ticks asked for: 1 to {max_ttl_ticks} ticks of {tick_ms} ms are allowed"
            )));
        }
        Ok(())
    }
}

impl Display for StoreError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { retry_in } => {
                write!(f, "too few node ids are free: try again in {} ms", retry_in.as_millis())
            }
            Self::Fenced { retry_in } => write!(
                f,
                "the lease store lost its continuity (restored, replaced or deleted): it grants \
                 nothing for another {} s, until every lease that it may have forgotten is over",
                retry_in.as_millis().div_ceil(1_000)
            ),
            Self::ClockSkew { store, here } => write!(
                f,
                "the store's clock is {} ms {} this machine's: at most 10000 ms are allowed",
                store.abs_diff(*here).as_millis(),
                if store > here { "ahead of" } else { "behind" }
            ),
            Self::CounterLost { reached: 1 } => f.write_str(
                "the store has no such counter, or has forgotten it: say where it begins, above every \
                 number ever reserved",
            ),
            Self::CounterLost { reached } => write!(
                f,
                "the store lost its continuity (restarted, restored or replaced), so its counter may have \
                 gone back: say where to go on, above every number ever reserved; it knows of those \
                 below {reached}"
            ),
            Self::Foreign => f.write_str(
                "the acquire's token belongs to another holder: are two copies of one process running?",
            ),
            Self::Invalid(sentence) | Self::Unusable(sentence) => f.write_str(sentence),
            Self::Unavailable(source) => write!(f, "the lease store is unavailable: {source}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(source) => Some(&**source),
            _ => None,
        }
    }
}
