//! What a rule is given, and what it answers: a namespace at one moment, and its changes.

use core::time::Duration;

use randflake_core::{Clock, LayoutSpec};

use super::{NamespaceRecord, NodeRecord, Observed};
use crate::date::utc;
use crate::types::{ASSUMED_MAX_TTL, EngineError, StoreError};

/// Node ids to read for an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand<'a> {
    /// Node ids to read.
    pub nodes: &'a [u32],
    /// Number of free node ids to find besides. An engine may use any index or hint: a wrong one
    /// costs another try, never an id. Only a record of this process that is reported absent
    /// without a look counts as forgotten.
    pub free: usize,
    /// The first and the last node id that may be among these; all if there is none.
    pub within: Option<(u32, u32)>,
    /// What this process has observed, so that it ignores hints to node ids that it has leased
    /// itself meanwhile.
    pub seen: Option<&'a Observed>,
}

impl<'a> Demand<'a> {
    /// These node ids, and no free ones.
    pub(crate) fn nodes(nodes: &'a [u32]) -> Self {
        Self {
            nodes,
            ..Self::default()
        }
    }
}

/// State of a namespace in an engine at one moment.
#[derive(Clone, Debug)]
pub struct View {
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
    /// Continuity that the engine reports.
    pub continuity: Continuity,
    /// The namespace's record, if it is there.
    pub namespace: Option<NamespaceRecord>,
    /// The node ids asked for, and candidates that may be free.
    pub nodes: Vec<Node>,
    /// The least longest TTL that a namespace which is missing is taken to have had.
    pub assumed_max_ttl: Duration,
    /// The first tick at which as many may be free as were asked for, where the engine knows; else
    /// none.
    pub free_from: Option<u64>,
}

/// A node id, and its record if it was ever leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Node id of the record.
    pub node_id: u32,
    /// Record, or `None` before the first lease.
    pub record: Option<NodeRecord>,
}

/// Continuity of an engine: whether it still has everything that it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Continuity {
    /// Fingerprint of the engine. Another one means that answered writes may be lost: a restored
    /// backup, a promoted replica, a copy, a restart without durability.
    pub fingerprint: String,
    /// What a copy changes and a failover does not, in words that a message can show: `cluster
    /// 14841639068965178418`. Empty if the engine cannot tell a copy. Records of another identity
    /// are those of an original that may be in use, so nothing is granted from them until a person
    /// says that it is gone.
    pub identity: String,
    /// Whether a missing namespace never existed: the engine would show a deletion.
    pub is_absence_certain: bool,
    /// The latest end of a lease that is known from elsewhere than the records, in Unix
    /// milliseconds; 0 if none.
    pub known_end_unix_ms: u64,
    /// When a store in a file was made, in Unix milliseconds; 0 of other engines. Until then
    /// another store may have been in its place, and nothing in this one shows it.
    pub made_unix_ms: u64,
    /// A random number of the store, from which all clients search for free node ids: drawn when it
    /// was made, and after each loss. 0 if the engine has none.
    pub search_from: u32,
    /// A setting by which answered writes are lost: what it is, and what to change.
    pub fault: Option<String>,
}

impl View {
    /// What a process expects to read: what it wrote last.
    pub(crate) fn carried(now: Duration, namespace: NamespaceRecord, nodes: Vec<Node>) -> Self {
        Self {
            now,
            continuity: Continuity {
                // As if the engine were as it was then. The write checks that it still is.
                fingerprint: namespace.fingerprint.clone(),
                identity: namespace.identity.clone(),
                ..Continuity::default()
            },
            namespace: Some(namespace),
            nodes,
            assumed_max_ttl: ASSUMED_MAX_TTL,
            free_from: None,
        }
    }

    /// Whether the store is a copy, whose original may be in use: its record names another one.
    #[must_use]
    pub fn is_copied(&self) -> bool {
        let record = self.namespace.as_ref();
        record.is_some_and(|record| record.identity != self.continuity.identity)
    }

    /// Refuses a copy. A quarantine would not do: it waits for leases that the copy has forgotten,
    /// and an original that is in use goes on granting after it.
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`], which names both stores and the command.
    pub fn check_copied(&self) -> Result<(), StoreError> {
        match &self.namespace {
            Some(record) if self.is_copied() => Err(StoreError::failed_precondition(format!(
                "this is a copy of a lease store: its records are those of {}, and this is {}. Both would grant the same \
                 node ids, so nothing is granted here: use the original, or, once that is gone for good, run `randflake \
                 lease init --moved` here",
                known(&record.identity),
                known(&self.continuity.identity)
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the namespace was dropped, and nobody has opened it since.
    pub(crate) fn is_dropped(&self) -> bool {
        let record = self.namespace.as_ref();
        record.is_some_and(|record| record.reason.is_dropped)
    }

    /// The record of a node id, if it was read and is there.
    #[must_use]
    pub fn record(&self, node_id: u32) -> Option<&NodeRecord> {
        let node = self.nodes.iter().find(|node| node.node_id == node_id)?;
        node.record.as_ref()
    }
}

fn known(identity: &str) -> &str {
    match identity {
        "" => "a store that is not known",
        identity => identity,
    }
}

/// A reading of the store clock, as time and as tick.
#[derive(Clone, Copy, Debug)]
pub struct StoreTime {
    /// As time since the Unix epoch.
    pub unix: Duration,
    /// The time as a tick of the layout.
    pub tick: u64,
    spec: LayoutSpec,
}

impl StoreTime {
    /// # Errors
    ///
    /// Before the layout's epoch: [`StoreError::Unavailable`] while the clock is not set, else
    /// [`StoreError::Invalid`].
    pub fn at(unix: Duration, spec: LayoutSpec) -> Result<Self, StoreError> {
        /// No clock that is set shows a time before it: this library is younger.
        const OLDEST: Duration = Duration::from_secs(1_730_000_000);

        let tick = spec.tick_at(unix).ok_or_else(|| {
            let epoch = utc(Duration::from_millis(spec.epoch_unix_ms()));
            let now = utc(unix);
            // Some machines start in 1970 until their clock is set: a retry may succeed.
            if unix < OLDEST {
                let why = "which is before the layout's epoch";
                return StoreError::unavailable(format!("its clock shows {now}, {why}, {epoch}"));
            }
            StoreError::Invalid(format!(
                "the layout's epoch is in the future: it is {epoch}, and the lease store's clock shows {now}; take an \
                 epoch that has passed"
            ))
        })?;
        Ok(Self { unix, tick, spec })
    }

    /// The end of a lease that begins now; the layout's last tick cuts it short.
    pub(super) fn end_after(&self, ttl: u64) -> Result<u64, StoreError> {
        // Else the end, which is cut below, would be at or before the start.
        if self.tick > self.spec.max_tick() {
            return Err(StoreError::failed_precondition(format!(
                "the layout's last time is {}, and the lease store's clock shows {}: take another layout or epoch",
                utc(Duration::from_millis(
                    self.spec.unix_ms(self.spec.max_tick())
                )),
                utc(self.unix)
            )));
        }
        Ok(self.extended(ttl))
    }

    /// Where a renewal moves an end to, unless it is there already.
    pub(super) fn extended(&self, ttl: u64) -> u64 {
        // Databases keep ticks as signed numbers.
        // After the last tick there is no id to be made, so no lease lasts longer.
        let max_end = self.spec.max_tick().saturating_add(1).min(i64::MAX as u64);
        self.tick.saturating_add(ttl).min(max_end)
    }

    /// How long until a tick begins; at least 1 ms.
    #[must_use]
    pub fn until(&self, tick: u64) -> Duration {
        let begin = Duration::from_millis(self.spec.unix_ms(tick));
        begin
            .saturating_sub(self.unix)
            .max(Duration::from_millis(1))
    }
}

/// Reads a local clock in place of the clock of a server.
///
/// # Errors
///
/// [`EngineError`] when the clock is not set.
pub fn read(clock: &dyn Clock) -> Result<Duration, EngineError> {
    clock
        .now()
        .ok_or_else(|| EngineError::unavailable("its clock does not know the time"))
}

/// A conditional write: all of it or nothing, durably, and only if everything that it was decided
/// from is unchanged.
#[derive(Clone, Debug)]
pub struct Change {
    /// Record of the namespace as it was read: it must still have this `namespace_nonce` and
    /// `writes`.
    pub namespace_before: Option<NamespaceRecord>,
    /// New record of the namespace; `None` leaves it.
    pub namespace_after: Option<NamespaceRecord>,
    /// Changes of node ids, each at most once.
    pub nodes: Vec<NodeChange>,
    /// Interval in which the store clock must be, for a change that was decided without reading it.
    pub window: Option<(Duration, Duration)>,
}

/// Change of the record of one node id.
#[derive(Clone, Debug)]
pub struct NodeChange {
    /// The record as it was read: it must still have this `fencing_token`, `serial`, `held` and
    /// `nonce`.
    pub before: Option<NodeRecord>,
    /// New record of the node id. If it is the record as it was read, that one stays, and survives
    /// a crash once the change is written.
    pub after: NodeRecord,
}

impl NodeChange {
    /// The record stays as it was read. An answer that rests on it needs a write all the same: what
    /// was read may be another client's write, whose log an engine shows before it is on the disk.
    pub(super) fn confirmed(record: &NodeRecord) -> Self {
        Self {
            before: Some(record.clone()),
            after: record.clone(),
        }
    }

    /// Whether the record stays as it was read.
    pub(crate) fn confirms(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }
}

impl Change {
    /// A change without effect yet.
    pub(crate) fn none(view: &View) -> Self {
        Self {
            namespace_before: view.namespace.clone(),
            namespace_after: None,
            nodes: Vec::new(),
            window: None,
        }
    }

    /// Whether the change reopens a dropped namespace.
    pub(crate) fn opens_anew(&self) -> bool {
        let is_dropped = |record: &NamespaceRecord| record.reason.is_dropped;
        // From a mark to a record; not from a mark to a mark, as a second drop would be.
        self.namespace_before.as_ref().is_some_and(is_dropped)
            && !self.namespace_after.as_ref().is_none_or(is_dropped)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.namespace_after.is_none() && self.nodes.is_empty()
    }
}

/// Decision of a rule: what to write, and what to answer once it is written.
#[derive(Debug)]
pub struct Decision<T> {
    /// The change to write.
    pub change: Change,
    /// The answer. A refusal may come with a change, such as a quarantine.
    pub answer: Result<T, StoreError>,
}

impl<T> Decision<T> {
    /// Nothing is written, and the answer is no refusal.
    pub(super) fn unchanged(view: &View, answer: T) -> Self {
        Self {
            change: Change::none(view),
            answer: Ok(answer),
        }
    }

    /// A refusal that writes nothing.
    pub(crate) fn refused(refusal: StoreError) -> Self {
        Self {
            change: Change {
                // Not even the record that was read: a refused view must not be remembered.
                namespace_before: None,
                namespace_after: None,
                nodes: Vec::new(),
                window: None,
            },
            answer: Err(refusal),
        }
    }
}

/// Outcome of writing a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The change was written and survives a crash.
    Written {
        /// Clock of the store at the write.
        now: Duration,
    },
    /// Something had changed since the read; nothing was written.
    Stale,
}
