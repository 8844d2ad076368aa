//! Views, callers and requests at random, and as the rules take them.

use core::time::Duration;

use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_lease::unstable::rules::{
    ClockWindow, Continuity, CurrentLease, Form, HistoryLink, NamespaceRecord, Node, NodeRecord,
    Observed, QuarantineReason, Terms, Versions, View,
};
use randflake_lease::{Grant, Token};

use crate::answers::cause;
use crate::keys;

const EPOCH_UNIX_MS: u64 = 1_700_000_000_000;
/// Ticks that divide the spans of the rules, and ticks that do not.
const TICKS_MS: [i64; 8] = [1, 10, 256, 1_000, 8_000, 10_000, 60_000, 64_000];
const TICK_BITS: u32 = 20;
pub(crate) const NODE_ID: u32 = 3;

macro_rules! columns {
    ($($name:ident)*) => {
        /// One row's inputs. Times are in milliseconds since the epoch or in ticks, truth values 0
        /// or 1, and -1 is none.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Inputs {
            $(pub(crate) $name: i64,)*
        }

        impl Inputs {
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

            pub(crate) fn values(&self) -> [i64; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

columns! {
    tick_ms now_ms fingerprint identity certain known_end_ms made_ms assumed_ms last node_ids is_chosen
    has_window least most knows asked_ttl_ms key_check fresh_origin fresh_nonce
    namespace_there namespace_dropped namespace_tick_ms namespace_origin namespace_writes namespace_quarantine
    namespace_since namespace_cause namespace_fingerprint namespace_identity namespace_max_ttl_ms namespace_seal namespace_holder_version
    namespace_record_version announced
    seen_there seen_dropped seen_tick_ms seen_origin seen_writes seen_quarantine seen_since seen_at_ms
    seen_has_leased seen_end seen_is_proxy
    node_there node_start node_end node_fencing node_serial node_token node_nonce node_held node_contested node_knows
    lease_end lease_fencing lease_token lease_written lease_serial lease_nonce lease_tried lease_next
    acquire_token acquire_tried ttl has_leases latest_end next_seal
}

impl Inputs {
    /// Small numbers around the present tick, so that each comparison is often at its edge.
    #[expect(clippy::too_many_lines, reason = "a line or more for each column")]
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        let tick_ms = TICKS_MS[random.usize(..TICKS_MS.len())];
        let last = 1_i64 << TICK_BITS;
        let now = match random.u8(..20) {
            0 => last + random.i64(-3..3),
            1 => random.i64(0..4),
            _ => random.i64(100..200),
        };
        let now_ms = now * tick_ms + random.i64(0..tick_ms);
        let longest_ms =
            [tick_ms, 3 * tick_ms, 60_000.max(3 * tick_ms), 300_000][random.usize(..4)];
        let spans = [
            0,
            (longest_ms + tick_ms - 1) / tick_ms,
            (20_000 + tick_ms - 1) / tick_ms,
            (longest_ms + tick_ms - 1) / tick_ms + (20_000 + tick_ms - 1) / tick_ms,
        ];
        // A tick near now, near now and a span that the rules add, or none.
        let near = |random: &mut fastrand::Rng| match random.u8(..10) {
            0 => 0,
            1 => random.i64(0..200),
            _ => {
                let span = spans[random.usize(..4)];
                let span = if random.bool() { span } else { -span };
                (now + span + random.i64(-2..3)).max(0)
            }
        };
        let near_ms = |random: &mut fastrand::Rng| {
            let tick = near(random);
            (tick * tick_ms + random.i64(-1..2)).max(0)
        };
        let chance =
            |random: &mut fastrand::Rng, percent: u8| i64::from(random.u8(..100) < percent);
        let few = |random: &mut fastrand::Rng| random.i64(0..3);
        let some_ttl = |random: &mut fastrand::Rng| {
            if random.u8(..20) == 0 {
                longest_ms + random.i64(0..2)
            } else {
                longest_ms
            }
        };
        let dropped = chance(random, 15);
        let other_tick = TICKS_MS[random.usize(..TICKS_MS.len())];
        let is_usual = chance(random, 85) == 1;
        let start = near(random);
        let end = start + random.i64(0..4) + spans[random.usize(..2)];
        let fencing = start + few(random);
        let key_check = keys::any(random);
        let namespace_seal = if random.u8(..4) == 0 {
            keys::any(random)
        } else {
            key_check
        };
        let namespace_record_version = 1 + i64::from(random.u8(..20) == 0);
        let window_ms = [0, 1, 10_000][random.usize(..3)];
        Self {
            tick_ms,
            now_ms,
            fingerprint: i64::from(random.u8(..10) == 0),
            identity: i64::from(random.u8(..20) == 0),
            certain: chance(random, 50),
            known_end_ms: if random.bool() { 0 } else { near_ms(random) },
            made_ms: match random.u8(..4) {
                0 => 0,
                // Around the spans of the rule before now, or further ahead than clocks may differ.
                1 => {
                    let span = [0, 1_000, 3_000, -20_000][random.usize(..4)];
                    (now_ms - span - random.i64(-2..3) * random.i64(0..=tick_ms)).max(1)
                }
                _ => (now_ms - random.i64(0..5_000 + 2 * tick_ms)).max(1),
            },
            assumed_ms: [0, longest_ms, 300_000][random.usize(..3)],
            last,
            node_ids: [8, (1 << 14) - 1, 1 << 14, 1 << 15, 1 << 16][random.usize(..5)],
            is_chosen: chance(random, 20),
            has_window: chance(random, 50),
            least: (now_ms - window_ms + chance(random, 5)).max(0),
            most: (now_ms + window_ms - i64::from(random.u8(..20) == 0) * (window_ms + 1)).max(0),
            knows: random.i64(1..3),
            asked_ttl_ms: if random.u8(..5) == 0 {
                0
            } else {
                some_ttl(random)
            },
            key_check,
            fresh_origin: 90,
            fresh_nonce: 91,
            namespace_there: chance(random, 85),
            namespace_dropped: dropped,
            namespace_tick_ms: if is_usual { tick_ms } else { other_tick },
            namespace_origin: few(random) / 2,
            namespace_writes: few(random),
            namespace_quarantine: near(random),
            namespace_since: near(random),
            namespace_cause: random.i64(0..4),
            namespace_fingerprint: i64::from(random.u8(..10) == 0),
            namespace_identity: i64::from(random.u8(..20) == 0),
            namespace_max_ttl_ms: some_ttl(random),
            namespace_seal,
            namespace_holder_version: namespace_record_version + i64::from(random.u8(..10) == 0),
            namespace_record_version,
            announced: random.i64(-1..3),
            seen_there: chance(random, 60),
            seen_dropped: chance(random, 20),
            seen_tick_ms: if is_usual { tick_ms } else { other_tick },
            seen_origin: few(random) / 2,
            seen_writes: few(random),
            seen_quarantine: near(random),
            seen_since: near(random),
            seen_at_ms: near_ms(random),
            seen_has_leased: chance(random, 50),
            seen_end: near(random),
            seen_is_proxy: chance(random, 20),
            node_there: chance(random, 85),
            node_start: start,
            node_end: end,
            node_fencing: fencing,
            node_serial: random.i64(1..4),
            node_token: few(random) / 2,
            node_nonce: few(random),
            node_held: chance(random, 80),
            node_contested: chance(random, 20),
            node_knows: 1 + i64::from(random.u8(..5) == 0),
            lease_end: if random.bool() {
                end
            } else {
                (end + random.i64(-2..3)).max(0)
            },
            lease_fencing: if random.u8(..3) == 0 {
                (fencing + random.i64(-1..2)).max(0)
            } else {
                fencing
            },
            lease_token: few(random) / 2,
            lease_written: chance(random, 80),
            lease_serial: random.i64(1..4),
            lease_nonce: few(random),
            lease_tried: random.i64(-1..3),
            lease_next: if random.bool() { -1 } else { few(random) },
            acquire_token: few(random) / 2,
            acquire_tried: random.i64(-1..3),
            ttl: match random.u8(..4) {
                0 => random.i64(0..3),
                1 => spans[1] + random.i64(-1..2),
                _ => spans[1],
            },
            has_leases: chance(random, 20),
            latest_end: near(random),
            next_seal: keys::next(random, namespace_seal),
        }
    }

    pub(crate) fn layout(tick_ms: i64) -> LayoutSpec {
        let field = |bits, shift| Field { bits, shift };
        LayoutSpec::new(LayoutFields {
            timestamp: field(TICK_BITS, 20),
            node_id: field(16, 4),
            sequence: field(4, 0),
            epoch_unix_ms: EPOCH_UNIX_MS,
            tick_ms: number(tick_ms),
        })
        .unwrap()
    }

    pub(crate) fn terms(&self) -> Terms {
        let max_ttl_ms = (self.asked_ttl_ms != 0).then(|| number(self.asked_ttl_ms));
        Terms {
            spec: Self::layout(self.tick_ms),
            key_check: keys::key(self.key_check),
            max_ttl_ms,
        }
    }

    pub(crate) fn view(&self) -> View {
        View {
            now: time(self.now_ms),
            continuity: Continuity {
                fingerprint: self.fingerprint.to_string(),
                is_absence_certain: self.certain == 1,
                known_end_unix_ms: if self.known_end_ms == 0 {
                    0
                } else {
                    EPOCH_UNIX_MS + number(self.known_end_ms)
                },
                made_unix_ms: if self.made_ms == 0 {
                    0
                } else {
                    EPOCH_UNIX_MS + number(self.made_ms)
                },
                identity: self.identity.to_string(),
                ..Continuity::default()
            },
            namespace: (self.namespace_there == 1).then(|| NamespaceRecord {
                versions: Versions {
                    written: small(self.namespace_record_version),
                    holder: small(self.namespace_holder_version),
                },
                terms: Terms {
                    spec: Self::layout(self.namespace_tick_ms),
                    key_check: keys::key(self.namespace_seal),
                    max_ttl_ms: Some(number(self.namespace_max_ttl_ms)),
                },
                namespace_nonce: number(self.namespace_origin),
                writes: number(self.namespace_writes),
                quarantine: number(self.namespace_quarantine),
                reason: QuarantineReason {
                    since: number(self.namespace_since),
                    cause: cause(self.namespace_cause),
                    is_dropped: self.namespace_dropped == 1,
                },
                fingerprint: self.namespace_fingerprint.to_string(),
                identity: self.namespace_identity.to_string(),
                form: Form::default(),
            }),
            nodes: vec![self.listed(NODE_ID)],
            assumed_max_ttl: Duration::from_millis(number(self.assumed_ms)),
            free_from: None,
        }
    }

    /// First and last node id that may be granted.
    pub(crate) fn within(&self) -> (u32, u32) {
        (0, u32::try_from(self.node_ids - 1).unwrap())
    }

    pub(crate) fn listed(&self, node_id: u32) -> Node {
        let record = (self.node_there == 1).then(|| self.node(node_id));
        Node { node_id, record }
    }

    fn node(&self, node_id: u32) -> NodeRecord {
        NodeRecord {
            node_id,
            start: number(self.node_start),
            end: number(self.node_end),
            fencing_token: number(self.node_fencing),
            serial: number(self.node_serial),
            token: token(self.node_token),
            nonce: number(self.node_nonce),
            held: self.node_held == 1,
            contested: self.node_contested == 1,
            past: HistoryLink::default(),
            holder: String::new(),
            capabilities: small(self.node_knows),
            form: Form::default(),
        }
    }

    pub(crate) fn window(&self) -> Option<ClockWindow> {
        (self.has_window == 1).then(|| ClockWindow {
            least: time(self.least),
            most: time(self.most),
        })
    }

    pub(crate) fn seen(&self) -> Observed {
        let mut seen = Observed::default();
        if self.seen_is_proxy == 1 {
            seen.act_as_proxy();
        }
        if self.seen_there == 1 {
            let record = NamespaceRecord {
                versions: Versions::FIRST,
                terms: Terms {
                    spec: Self::layout(self.seen_tick_ms),
                    key_check: None,
                    max_ttl_ms: Some(1_000),
                },
                namespace_nonce: number(self.seen_origin),
                writes: number(self.seen_writes),
                quarantine: number(self.seen_quarantine),
                reason: QuarantineReason {
                    since: number(self.seen_since),
                    is_dropped: self.seen_dropped == 1,
                    ..QuarantineReason::default()
                },
                fingerprint: String::new(),
                identity: String::new(),
                form: Form::default(),
            };
            seen.note_namespace(record, time(self.seen_at_ms));
        }
        if self.seen_has_leased == 1 {
            seen.note(&NodeRecord {
                end: number(self.seen_end),
                ..self.node(NODE_ID)
            });
        }
        seen
    }

    pub(crate) fn lease(&self, node_id: u32) -> CurrentLease {
        CurrentLease {
            grant: Grant {
                node_id,
                // Another start is refused before anything else is decided.
                start: number(self.node_start),
                end: number(self.lease_end),
                fencing_token: number(self.lease_fencing),
                token: token(self.lease_token),
            },
            written: (self.lease_written == 1)
                .then(|| (number(self.lease_serial), number(self.lease_nonce))),
            tried: u64::try_from(self.lease_tried).ok().into_iter().collect(),
            next: u64::try_from(self.lease_next).ok(),
        }
    }
}

pub(crate) fn token(place: i64) -> Token {
    Token::from_bytes([small(place); 16])
}

pub(crate) fn time(ms: i64) -> Duration {
    Duration::from_millis(EPOCH_UNIX_MS + number(ms))
}

pub(crate) fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap()
}

pub(crate) fn small(value: i64) -> u8 {
    u8::try_from(value).unwrap()
}
