//! Records of a store, in a few bytes, so that millions of states fit; and as the shipped rules see
//! it.

use core::time::Duration;

use randflake_core::AnyLayout;
use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_lease::unstable::rules::{
    Continuity, Form, HistoryLink, KeyCheck, NamespaceRecord, Node, NodeRecord, QuarantineReason,
    Terms, VERSION, Versions, View,
};
use randflake_lease::{ASSUMED_MAX_TTL, QuarantineCause, Token};

use crate::rules::Begin;
use crate::{TICK_MS, TTL};

const EPOCH_UNIX_MS: u64 = 1_700_000_000_000;

/// Two node ids, an id a tick. In the second one the fields have each other's places.
pub(crate) const LAYOUTS: [LayoutSpec; 2] = [layout(1, 0), layout(0, 6)];

const fn layout(timestamp: u32, node_id: u32) -> LayoutSpec {
    let fields = LayoutFields {
        timestamp: Field {
            bits: 6,
            shift: timestamp,
        },
        node_id: Field {
            bits: 1,
            shift: node_id,
        },
        sequence: Field { bits: 0, shift: 0 },
        epoch_unix_ms: EPOCH_UNIX_MS,
        tick_ms: TICK_MS,
    };
    match LayoutSpec::new(fields) {
        Ok(layout) => layout,
        Err(_) => panic!("no such layout"),
    }
}

/// Whose layout they have.
pub(crate) const USUAL: u8 = 0;
pub(crate) const OTHER_LAYOUT: u8 = 1;
pub(crate) const SHORTER_TTL: u8 = 2;
pub(crate) const LONGER_TTL: u8 = 3;

/// What the processes' namespaces may mean.
pub(crate) fn terms(place: u8) -> Terms {
    Terms {
        spec: layout_of(place).spec(),
        key_check: Some(KeyCheck::Plain),
        max_ttl_ms: Some(u64::from(ttl_of(place)) * TICK_MS),
    }
}

/// The longest TTL, which is the one asked for. The longer one is longer than twice the skew.
pub(crate) fn ttl_of(terms: u8) -> u8 {
    match terms {
        SHORTER_TTL => 1,
        LONGER_TTL => 4,
        _ => TTL,
    }
}

pub(crate) fn layout_of(terms: u8) -> LayoutSpec {
    LAYOUTS[usize::from(terms == OTHER_LAYOUT)]
}

fn place_of(stored: &Terms) -> u8 {
    let mut places = USUAL..=LONGER_TTL;
    places.find(|place| terms(*place) == *stored).unwrap()
}

/// When a tick begins.
pub(crate) fn time(tick: u8) -> Duration {
    Duration::from_millis(EPOCH_UNIX_MS + u64::from(tick) * TICK_MS)
}

pub(crate) fn token(number: u8) -> Token {
    Token::from_bytes([number; 16])
}

pub(crate) fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap()
}

/// A node id's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    pub(crate) start: u8,
    pub(crate) end: u8,
    pub(crate) fencing_token: u8,
    pub(crate) serial: u8,
    pub(crate) token: u8,
    pub(crate) nonce: u8,
    pub(crate) held: bool,
    pub(crate) contested: bool,
}

/// What a commit compares of a node id's record.
pub(crate) type LeaseVersion = (u8, u8, bool, u8);

impl Lease {
    pub(crate) fn of(record: &NodeRecord) -> Self {
        Self {
            start: small(record.start),
            end: small(record.end),
            fencing_token: small(record.fencing_token),
            serial: small(record.serial),
            token: record.token.to_bytes()[0],
            nonce: small(record.nonce),
            held: record.held,
            contested: record.contested,
        }
    }

    pub(crate) fn version(self) -> LeaseVersion {
        (self.fencing_token, self.serial, self.held, self.nonce)
    }

    /// No rule looks at the holder's name or the history.
    fn record(self, node_id: u8) -> NodeRecord {
        NodeRecord {
            node_id: node_id.into(),
            start: self.start.into(),
            end: self.end.into(),
            fencing_token: self.fencing_token.into(),
            serial: self.serial.into(),
            token: token(self.token),
            nonce: self.nonce.into(),
            held: self.held,
            contested: self.contested,
            past: HistoryLink::default(),
            holder: String::new(),
            capabilities: VERSION,
            form: Form::default(),
        }
    }
}

/// Record of the namespace, compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    terms: u8,
    pub(crate) namespace_nonce: u8,
    pub(crate) writes: u8,
    pub(crate) quarantine: u8,
    /// Start of the quarantine; 0 in worlds where no rule looks at it.
    pub(crate) since: u8,
    /// Whether it is the mark of a drop.
    is_dropped: bool,
    /// Whether it was made after a drop.
    is_reopened: bool,
    fingerprint: u8,
}

/// What a commit compares of the namespace's record.
pub(crate) type NameVersion = (u8, u8);

impl Name {
    pub(crate) fn of(record: &NamespaceRecord, has_past: bool) -> Self {
        let QuarantineReason {
            since,
            cause,
            is_dropped,
        } = record.reason;
        Self {
            since: if has_past { small(since) } else { 0 },
            is_dropped,
            is_reopened: cause == QuarantineCause::Dropped && !is_dropped,
            terms: place_of(&record.terms),
            namespace_nonce: small(record.namespace_nonce),
            writes: small(record.writes),
            quarantine: small(record.quarantine),
            fingerprint: small(record.fingerprint.len() as u64),
        }
    }

    pub(crate) fn version(self) -> NameVersion {
        (self.namespace_nonce, self.writes)
    }

    /// If it is the mark of a drop: when it was made, and until when leases may live.
    pub(crate) fn mark(self) -> Option<(u8, u8)> {
        self.is_dropped.then_some((self.since, self.quarantine))
    }

    pub(crate) fn record(self) -> NamespaceRecord {
        NamespaceRecord {
            versions: Versions::FIRST,
            terms: terms(self.terms),
            namespace_nonce: self.namespace_nonce.into(),
            writes: self.writes.into(),
            quarantine: self.quarantine.into(),
            reason: QuarantineReason {
                since: self.since.into(),
                cause: if self.is_dropped || self.is_reopened {
                    QuarantineCause::Dropped
                } else {
                    // Whether it is of a new namespace makes no difference but for people.
                    QuarantineCause::default()
                },
                is_dropped: self.is_dropped,
            },
            fingerprint: fingerprint(self.fingerprint),
            // A world has one store, and no copy of it.
            identity: String::new(),
            form: Form::default(),
        }
    }
}

/// The first one is empty, which costs nothing to copy.
fn fingerprint(number: u8) -> String {
    "x".repeat(number.into())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Records {
    pub(crate) name: Option<Name>,
    pub(crate) leases: [Option<Lease>; 2],
}

/// An engine. It decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) records: Records,
    /// What an asynchronous replica, or a backup, has.
    pub(crate) replica: Records,
    /// How often leases were lost; connections do not outlive that.
    pub(crate) losses: u8,
    /// How often the engine has noticed.
    fingerprint: u8,
    /// The latest end ever, kept where no loss reaches it.
    latest_end: u8,
    /// When it was made in the place of another one; 0 if it was not.
    pub(crate) made: u8,
}

/// What a process asked to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Change {
    /// Those of the store when it was read.
    pub(crate) losses: u8,
    pub(crate) name_before: Option<Name>,
    pub(crate) name_after: Option<Name>,
    pub(crate) leases: [Option<LeaseChange>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeaseChange {
    /// The place of the record: the node id, unless that is the flaw.
    pub(crate) place: u8,
    pub(crate) before: Option<LeaseVersion>,
    pub(crate) after: Lease,
}

impl Store {
    /// The store of a world at its beginning: a namespace in which nothing was leased, or none.
    pub(crate) fn at_begin(begin: Begin, terms: u8) -> Self {
        let made = |namespace_nonce, since| Name {
            terms,
            namespace_nonce,
            writes: 1,
            quarantine: 0,
            since,
            is_dropped: false,
            is_reopened: false,
            fingerprint: 0,
        };
        let (name, replica) = match begin {
            Begin::Empty => return Self::default(),
            Begin::Made | Begin::Timed => (made(0, 0), made(0, 0)),
            Begin::MadeAgain => (made(1, 6), made(0, 3)),
            Begin::Dropped => {
                let mark = Name {
                    writes: 2,
                    quarantine: 10,
                    is_dropped: true,
                    ..made(1, 6)
                };
                (mark, made(0, 3))
            }
        };
        let of = |name| Records {
            name: Some(name),
            leases: [None; 2],
        };
        Self {
            records: of(name),
            replica: of(replica),
            ..Self::default()
        }
    }

    /// What an engine reads: the records of these node ids, `apart` places further.
    pub(crate) fn view(&self, now: u8, node_ids: &[u8], apart: u8, keeps_end: bool) -> View {
        let node = |&node_id: &u8| Node {
            node_id: node_id.into(),
            record: self.records.leases[usize::from(node_id + apart)]
                .map(|lease| lease.record(node_id)),
        };
        let known_end_unix_ms = match self.latest_end {
            tick @ 1.. if keeps_end => u64::try_from(time(tick).as_millis()).unwrap(),
            _ => 0,
        };
        View {
            now: time(now),
            continuity: Continuity {
                fingerprint: fingerprint(self.fingerprint),
                is_absence_certain: self.fingerprint == 0,
                known_end_unix_ms,
                made_unix_ms: match self.made {
                    0 => 0,
                    tick => u64::try_from(time(tick).as_millis()).unwrap(),
                },
                ..Continuity::default()
            },
            namespace: self.records.name.map(Name::record),
            nodes: node_ids.iter().map(node).collect(),
            assumed_max_ttl: ASSUMED_MAX_TTL,
            free_from: None,
        }
    }

    /// Writes all of it if everything still is as it was read.
    pub(crate) fn commit(&mut self, change: &Change) -> bool {
        let leases = &mut self.records.leases;
        let is_so =
            change.losses == self.losses
                && change.name_before.map(Name::version) == self.records.name.map(Name::version)
                && change.leases.iter().flatten().all(|lease| {
                    lease.before == leases[usize::from(lease.place)].map(Lease::version)
                });
        if is_so {
            self.records.name = change.name_after.or(self.records.name);
            for LeaseChange { place, after, .. } in change.leases.into_iter().flatten() {
                leases[usize::from(place)] = Some(after);
                self.latest_end = self.latest_end.max(after.end);
            }
        }
        is_so
    }

    /// Whether no lease was ever written.
    pub(crate) fn has_granted_nothing(&self) -> bool {
        self.latest_end == 0
    }

    /// Whether it has a lease, last written as its holder knows it or later.
    pub(crate) fn has(&self, node_id: u8, token: u8) -> bool {
        let record = self.records.leases[usize::from(node_id)];
        record.is_some_and(|record| record.token == token)
    }

    pub(crate) fn lose(&mut self, records: Records, is_noticed: bool) {
        self.records = records;
        self.losses += 1;
        self.fingerprint += u8::from(is_noticed);
    }
}
