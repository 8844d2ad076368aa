//! Rules of leases under the worst engines and clocks.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::{Clock, ManualClock};
use randflake_core::{Layout, Randflake};
use randflake_lease::ExactSystemClock;
use randflake_lease::unstable::rules::{
    self, Acquire, Caller, Continuity, Form, Loss, NamespaceRecord, Node, NodeRecord, Observed,
    QuarantineReason, VERSION, Versions, View,
};
use randflake_lease::{
    ASSUMED_MAX_TTL, AcquireRequest, Grant, MAX_TTL_LIMIT, MemoryStore, Namespace, NodeIds,
    QuarantineCause, StoreError, Token,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn token() -> Token {
    Token::from_bytes([1; 16])
}

fn request(nodes: NodeIds<'_>) -> AcquireRequest<'_> {
    AcquireRequest {
        token: token(),
        holder: "holder",
        nodes,
        ttl: 60,
    }
}

fn acquire(view: &View, nodes: NodeIds<'_>) -> Result<Vec<u32>, StoreError> {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let asked = Acquire {
        request: request(nodes),
        tried: &[],
        within: (0, u32::MAX),
    };
    let caller = Caller {
        terms: namespace.terms(),
        seen: &Observed::default(),
        clock: None,
        fresh: (1, 2),
        capabilities: VERSION,
    };
    let granted = rules::acquire(view, &asked, &caller).answer?;
    Ok(granted.iter().map(|record| record.node_id).collect())
}

/// A namespace's record whose quarantine began at a tick, and is over.
fn record(namespace_nonce: u64, since: u64) -> NamespaceRecord {
    NamespaceRecord {
        versions: Versions::FIRST,
        terms: *Namespace::new("orders", Randflake).unwrap().terms(),
        namespace_nonce,
        writes: 1,
        quarantine: 0,
        reason: QuarantineReason {
            since,
            ..QuarantineReason::default()
        },
        fingerprint: String::new(),
        identity: String::new(),
        form: Form::default(),
    }
}

/// A process that has seen one record of a namespace finds another one. Only a younger one follows
/// on it: an older one is a backup's, and may have forgotten leases.
#[test]
fn older_record_than_seen_closes_the_namespace() {
    let spec = Randflake::SPEC;
    let now = ExactSystemClock.now().unwrap();
    let tick = spec.tick_at(now).unwrap();
    let dropped = tick - 1_000;
    let mark = NamespaceRecord {
        quarantine: dropped + 80,
        reason: QuarantineReason {
            since: dropped,
            cause: QuarantineCause::Dropped,
            is_dropped: true,
        },
        ..record(2, 0)
    };
    let seen_at = |tick| Duration::from_millis(spec.unix_ms(tick));
    for (seen, at) in [
        // Seen long after the drop: what counts is when that was.
        (mark, seen_at(tick - 10)),
        (record(2, 0), seen_at(dropped)),
    ] {
        for (since, is_granted) in [
            (dropped - 5_000, false),
            (dropped + 20, false),
            (dropped + 21, true),
        ] {
            let mut observed = Observed::default();
            observed.note_namespace(seen.clone(), at);
            let namespace = Namespace::new("orders", Randflake).unwrap();
            let terms = *namespace.terms();
            let view = View {
                now,
                continuity: Continuity::default(),
                namespace: Some(record(1, since)),
                nodes: vec![Node {
                    node_id: 5,
                    record: None,
                }],
                assumed_max_ttl: ASSUMED_MAX_TTL,
                free_from: None,
            };
            let caller = Caller {
                terms: &terms,
                seen: &observed,
                clock: None,
                fresh: (1, 2),
                capabilities: VERSION,
            };
            let acquisition = Acquire {
                request: request(NodeIds::Any(1)),
                tried: &[],
                within: (0, u32::MAX),
            };
            let answer = rules::acquire(&view, &acquisition, &caller).answer;
            assert_eq!(answer.is_ok(), is_granted, "{since}: {answer:?}");
        }
    }
}

/// As after a write that never arrived: what was tried is read, and the engine offers it again.
#[test]
fn a_node_id_that_is_read_twice_is_granted_once() {
    let node = |node_id| Node {
        node_id,
        record: None,
    };
    let view = View {
        now: ExactSystemClock.now().unwrap(),
        continuity: Continuity {
            is_absence_certain: true,
            ..Continuity::default()
        },
        namespace: None,
        nodes: [5, 5, 7].map(node).into(),
        assumed_max_ttl: ASSUMED_MAX_TTL,
        free_from: None,
    };
    assert_eq!(acquire(&view, NodeIds::Any(2)).unwrap(), [5, 7]);
    assert!(matches!(
        acquire(&view, NodeIds::Any(3)),
        Err(StoreError::Exhausted { .. })
    ));
    let refused = acquire(&view, NodeIds::These(&[5, 7, 5])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "node id 5 is asked for twice: once is allowed"
    );
}

/// On a promoted replica, which may not know that a copy of this process was faster.
#[test]
fn what_was_tried_is_not_claimed_during_a_quarantine() {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let now = ExactSystemClock.now().unwrap();
    let tick = namespace.spec().tick_at(now).unwrap();
    let asked = Acquire {
        request: request(NodeIds::Any(1)),
        tried: &[7],
        within: (0, u32::MAX),
    };
    let seen = Observed::default();
    let caller = Caller {
        terms: namespace.terms(),
        seen: &seen,
        clock: None,
        fresh: (1, 2),
        capabilities: VERSION,
    };
    let mut view = View {
        now,
        continuity: Continuity::default(),
        namespace: Some(record(1, 0)),
        nodes: vec![Node {
            node_id: 5,
            record: Some(NodeRecord {
                node_id: 5,
                start: tick,
                end: tick + 60,
                fencing_token: tick,
                serial: 1,
                token: token(),
                nonce: 7,
                held: true,
                past: rules::HistoryLink::default(),
                contested: false,
                holder: "holder".to_owned(),
                capabilities: VERSION,
                form: Form::default(),
            }),
        }],
        assumed_max_ttl: ASSUMED_MAX_TTL,
        free_from: None,
    };
    assert!(rules::acquire(&view, &asked, &caller).answer.is_ok());
    view.continuity.fingerprint = "another".to_owned();
    let refused = rules::acquire(&view, &asked, &caller).answer.unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
}

/// The real time, an hour ahead from a reading on.
#[derive(Debug)]
struct LeapsAt {
    reading: u64,
    readings: AtomicU64,
}

impl Clock for LeapsAt {
    fn now(&self) -> Option<Duration> {
        let reading = self.readings.fetch_add(1, Ordering::SeqCst);
        let ahead = if reading < self.reading {
            Duration::ZERO
        } else {
            HOUR
        };
        Some(ExactSystemClock.now()? + ahead)
    }
}

/// Between what the rules look at and the write that follows.
#[test]
fn renewal_notices_a_leap_during_the_acquire() {
    let clock = Arc::new(LeapsAt {
        // Twice before the write: another leap is refused at once.
        reading: 2,
        readings: AtomicU64::new(0),
    });
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let mut store =
        MemoryStore::new(namespace, Arc::clone(&clock)).compared_with(Arc::new(ExactSystemClock));
    // Counted from here: the store has read it when it was made.
    clock.readings.store(0, Ordering::SeqCst);
    let acquired = store
        .acquire(&AcquireRequest {
            token: token(),
            holder: "holder",
            nodes: NodeIds::Any(1),
            ttl: 60,
        })
        .unwrap();
    let refused = store.renew(&acquired.grants, 60).unwrap_err();
    assert!(
        matches!(refused, StoreError::ClockSkew { .. }),
        "{refused:?}"
    );
}

/// The clock of a machine that was resumed is late until somebody sets it.
#[test]
fn copy_with_a_late_clock_learns_its_loss() {
    let told = |by: fn(&mut MemoryStore, &[Grant])| {
        let [clock, late] = [1_800_000_000_000; 2].map(|ms| Arc::new(ManualClock::at_unix_ms(ms)));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let store = MemoryStore::new(namespace, Arc::clone(&clock));
        let mut copy = store.compared_with(late);
        let asked = AcquireRequest {
            token: token(),
            holder: "holder",
            nodes: NodeIds::Any(1),
            ttl: 60,
        };
        let grants = copy.acquire(&asked).unwrap().grants;
        let mut original = copy.resumed_twice().compared_with(Arc::clone(&clock));
        clock.advance_ms(15_000);
        for _ in 0..2 {
            let refused = copy.renew(&grants, 60).unwrap_err();
            let is_skew = matches!(refused, StoreError::ClockSkew { .. });
            assert!(is_skew, "{refused:?}");
        }
        // Which has seen the clock leap.
        original.renew(&grants, 60).unwrap_err();
        by(&mut original, &grants);
        let ends = copy.renew(&grants, 60).unwrap().ends;
        let listed = original.list().unwrap().remove(0);
        (ends, listed.contested)
    };
    let renewed = told(|original, grants| drop(original.renew(grants, 60).unwrap()));
    assert_eq!(renewed, (vec![Err(Loss::Contested)], true));
    let released = told(|original, grants| original.release(grants).unwrap());
    assert_eq!(released, (vec![Err(Loss::Released)], false));
}

/// A server was restarted and has lost nothing; its clock is the store's. The renewal is the latest
/// that there is.
#[test]
fn shortest_lasting_ttl_outlasts_a_quarantine() {
    let is_renewed = |ttl: Duration| {
        let clock = Arc::new(ManualClock::at_unix_ms(1_800_000_000_000));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let mut store = MemoryStore::new(namespace.with_max_ttl(ttl), Arc::clone(&clock));
        let ticks = ttl.as_secs();
        let request = AcquireRequest {
            token: token(),
            holder: "holder",
            nodes: NodeIds::Any(1),
            ttl: ticks,
        };
        let grants = store.acquire(&request).unwrap().grants;
        let latest = ttl.mul_f64(1.1 / 3.0).as_millis();
        clock.advance_ms(latest.try_into().unwrap());
        store.administration().start_quarantine().unwrap();
        store.renew(&grants, ticks).unwrap().ends[0].is_ok()
    };
    let least = Namespace::new("orders", Randflake)
        .unwrap()
        .min_lasting_ttl();
    assert_eq!(least, Duration::from_secs(35));
    let snowflake = Namespace::new("orders", randflake_core::Snowflake).unwrap();
    assert_eq!(snowflake.min_lasting_ttl(), Duration::from_secs(32));
    assert!(is_renewed(least));
    for short in [5, 15, 25, 30] {
        assert!(!is_renewed(Duration::from_secs(short)), "{short} s");
    }
}

#[test]
fn a_longest_ttl_over_the_limit_is_refused_by_name() {
    let acquired = |max_ttl: Duration| {
        let clock = Arc::new(ManualClock::at_unix_ms(1_800_000_000_000));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let mut store = MemoryStore::new(namespace.with_max_ttl(max_ttl), clock);
        store.acquire(&request(NodeIds::Any(1)))
    };
    assert!(acquired(MAX_TTL_LIMIT).is_ok());
    for over in [MAX_TTL_LIMIT + Duration::from_millis(1), Duration::MAX] {
        let refused = acquired(over).unwrap_err();
        let StoreError::Invalid(told) = refused else {
            panic!("{refused:?}");
        };
        assert!(
            told.contains("one tick of the layout to 14610 days are allowed"),
            "{told}"
        );
    }
}
