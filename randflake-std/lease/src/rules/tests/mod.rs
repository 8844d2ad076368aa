//! Each rule where it decides: a namespace at one moment, and what is asked of it.

mod acquire;
mod administration;
mod clocks;
mod counters;
mod keys;
mod losses;
mod next_key;
mod renew;
mod search;
mod state;

use core::time::Duration;

use randflake_core::{Layout, LayoutSpec, Randflake};

use super::{
    Caller, ClockWindow, Continuity, CurrentLease, Form, HistoryLink, NamespaceRecord, Node,
    NodeRecord, Observed, QuarantineReason, Versions, View,
};
use crate::types::{Namespace, QuarantineCause, Terms, Token};

/// Ticks are seconds.
const SPEC: LayoutSpec = Randflake::SPEC;
const NOW: u64 = 10_000;
/// Twice the time by which clocks may differ.
const SKEW: u64 = 20;
/// Length of a quarantine: the longest TTL, and the skew.
const SPAN: u64 = 60 + SKEW;
/// The same where the longest TTL is not known.
const ASSUMED_SPAN: u64 = 300 + SKEW;
/// Random numbers of the caller.
const ORIGIN: u64 = 90;
const NONCE: u64 = 91;

/// A namespace at one moment, and who asks.
struct World {
    view: View,
    terms: Terms,
    seen: Observed,
    clock: Option<ClockWindow>,
    capabilities: u8,
}

impl World {
    /// A namespace that grants, with these leases.
    fn new<'a>(leases: impl IntoIterator<Item = &'a NodeRecord>) -> Self {
        let nodes = leases.into_iter().map(|lease| Node {
            node_id: lease.node_id,
            record: Some(lease.clone()),
        });
        Self {
            view: View {
                now: unix(NOW),
                continuity: Continuity::default(),
                namespace: Some(namespace()),
                nodes: nodes.collect(),
                assumed_max_ttl: Duration::from_secs(300),
                free_from: None,
            },
            terms: terms(),
            seen: Observed::default(),
            clock: None,
            capabilities: 1,
        }
    }

    /// Without a record, as before its first lease.
    fn missing() -> Self {
        let mut world = Self::new(&[]);
        world.view.namespace = None;
        world
    }

    fn with_unleased(mut self, node_ids: &[u32]) -> Self {
        self.view.nodes.extend(node_ids.iter().map(|&node_id| Node {
            node_id,
            record: None,
        }));
        self
    }

    fn namespace(&mut self) -> &mut NamespaceRecord {
        self.view.namespace.as_mut().unwrap()
    }

    /// In a quarantine until a tick.
    fn quarantined(mut self, cause: QuarantineCause, until: u64) -> Self {
        let namespace = self.namespace();
        namespace.quarantine = until;
        namespace.reason.cause = cause;
        self
    }

    /// The process has seen a record at a tick.
    fn has_seen(mut self, record: NamespaceRecord, tick: u64) -> Self {
        self.seen.note_namespace(record, unix(tick));
        self
    }

    /// The process has had a lease that ends at a tick.
    fn has_leased(mut self, node_id: u32, end: u64) -> Self {
        self.seen.note(&lease(node_id, 0, end));
        self
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            terms: &self.terms,
            seen: &self.seen,
            clock: self.clock,
            fresh: (ORIGIN, NONCE),
            capabilities: self.capabilities,
        }
    }
}

fn unix(tick: u64) -> Duration {
    Duration::from_millis(SPEC.unix_ms(tick))
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn token() -> Token {
    Token::from_bytes([1; 16])
}

fn terms() -> Terms {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    namespace.terms().of_a_holder()
}

fn namespace() -> NamespaceRecord {
    NamespaceRecord {
        versions: Versions::FIRST,
        terms: terms(),
        namespace_nonce: 7,
        writes: 3,
        quarantine: 0,
        reason: QuarantineReason {
            since: 100,
            ..QuarantineReason::default()
        },
        fingerprint: String::new(),
        identity: String::new(),
        form: Form::default(),
    }
}

/// The mark of a drop at a tick, whose leases end at another.
fn mark(since: u64, until: u64) -> NamespaceRecord {
    NamespaceRecord {
        quarantine: until,
        reason: QuarantineReason {
            since,
            cause: QuarantineCause::Dropped,
            is_dropped: true,
        },
        ..namespace()
    }
}

fn lease(node_id: u32, start: u64, end: u64) -> NodeRecord {
    NodeRecord {
        node_id,
        start,
        end,
        fencing_token: start,
        serial: 5,
        token: token(),
        nonce: 50,
        held: true,
        contested: false,
        past: HistoryLink::default(),
        holder: "holder".to_owned(),
        capabilities: 1,
        form: Form::default(),
    }
}

/// As the holder that has written it knows it.
fn held(record: &NodeRecord) -> CurrentLease {
    CurrentLease {
        grant: record.grant(),
        written: Some((record.serial, record.nonce)),
        tried: Vec::new(),
        next: None,
    }
}
