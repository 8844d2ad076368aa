//! Renewals without a read, by clocks that drift, and in batches.

use core::time::Duration;
use std::sync::Arc;

use randflake_core::{Clock, ManualClock, Randflake};
use randflake_lease::unstable::engine::Profile;
use randflake_lease::unstable::rules::{Key, Loss, Write, WriteOutcome};
use randflake_lease::{Grant, LeaseStore, MAX_SKEW, Namespace, NodeIds, StoreError};

use super::world::{BEGIN, Map, TTL, acquire, acquire_one};
use crate::watched::{Watcher, watched};

/// A holder, its machine's wall and monotonic clock, and the engine with a clock of its own.
struct Holder {
    map: Map,
    store: LeaseStore,
    wall: Arc<ManualClock>,
    monotonic: Arc<ManualClock>,
    grant: Grant,
}

impl Holder {
    fn new() -> Self {
        let map = Map::new();
        let wall = Arc::new(ManualClock::at_unix_ms(ms(BEGIN)));
        let monotonic = Arc::new(ManualClock::at_unix_ms(0));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let clocks = (Arc::clone(&wall), Arc::clone(&monotonic));
        let mut store = map.open(&namespace).simulated_on(clocks.0, clocks.1);
        let grant = acquire_one(&mut store).unwrap();
        Self {
            map,
            store,
            wall,
            monotonic,
            grant,
        }
    }

    fn pass(&self, span: Duration) {
        self.map.state().now += span;
        self.wall.advance_ms(ms(span));
        self.monotonic.advance_ms(ms(span));
    }

    /// The outcome of a renewal, and how often was read and written for it.
    fn renew(&mut self) -> (Result<Result<u64, Loss>, StoreError>, [usize; 2]) {
        {
            let mut state = self.map.state();
            (state.reads, state.writes) = (0, 0);
        }
        let renewed = self.store.renew(&[self.grant], TTL);
        let state = self.map.state();
        let asked = [state.reads, state.writes];
        (renewed.map(|renewed| renewed.ends[0]), asked)
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap()
}

#[test]
fn a_renewal_is_one_write() {
    let mut holder = Holder::new();
    for _ in 0..10 {
        holder.pass(Duration::from_secs(20));
        let (end, asked) = holder.renew();
        holder.grant.end += 20;
        assert_eq!(end.unwrap(), Ok(holder.grant.end));
        assert_eq!(asked, [0, 1]);
    }
}

#[test]
fn what_has_expired_is_not_renewed() {
    for (wait, is_live) in [(59_999, true), (60_000, false)] {
        let mut holder = Holder::new();
        holder.pass(Duration::from_millis(wait));
        assert_eq!(holder.renew().0.unwrap().is_ok(), is_live, "{wait} ms");
    }
}

/// Of two leases one has expired: a loss is not told from memory.
#[test]
fn all_are_renewed_unread_or_none() {
    let mut holder = Holder::new();
    holder.pass(Duration::from_secs(30));
    let later = acquire_one(&mut holder.store).unwrap();
    holder.pass(Duration::from_secs(30));
    holder.map.state().reads = 0;
    let renewed = holder.store.renew(&[later, holder.grant], TTL).unwrap();
    assert!(renewed.ends[0].is_ok() && renewed.ends[1].is_err());
    assert_eq!(holder.map.state().reads, 1);
}

/// The request was on its way until between the ends of two leases.
#[test]
fn late_write_for_one_lease_renews_none_unread() {
    let mut holder = Holder::new();
    holder.pass(Duration::from_secs(2));
    let later = acquire_one(&mut holder.store).unwrap();
    holder.pass(Duration::from_secs(57));
    {
        let mut state = holder.map.state();
        state.meanwhile = Some((state.texts.clone(), BEGIN + Duration::from_secs(TTL)));
    }
    let renewed = holder.store.renew(&[later, holder.grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Ok(later.end + 58), Err(Loss::Expired)]);
}

/// The leases are read where the engine does not check the clock.
#[test]
fn an_engine_that_checks_no_clock_is_read() {
    #[derive(Debug)]
    struct Reads;
    impl Watcher for Reads {
        fn profile(&self, profile: Profile) -> Profile {
            Profile {
                blind_renewal: false,
                ..profile
            }
        }
    }
    let mut holder = Holder::new();
    holder.store = watched(holder.store, Reads);
    assert!(holder.renew().0.unwrap().is_ok());
    let (end, asked) = holder.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 1]);
}

/// The lease would have lived by this machine's clocks, or is over by them.
#[test]
fn leapt_store_clock_is_asked_and_refused_once() {
    for leap in [-3_600, -2, 3, 30, 59, 61, 3_600_i64] {
        let mut holder = Holder::new();
        holder.pass(Duration::from_secs(20));
        let leapt = i64::try_from(ms(BEGIN)).unwrap() + (20 + leap) * 1_000;
        holder.map.state().now = Duration::from_millis(leapt.unsigned_abs());
        let (outcome, asked) = holder.renew();
        let refused = outcome.unwrap_err();
        assert!(
            matches!(refused, StoreError::ClockSkew { .. }),
            "{leap}: {refused}"
        );
        assert_eq!(asked, [1, 1], "{leap}");
    }
}

#[test]
fn what_others_changed_is_read() {
    let mut holder = Holder::new();
    let namespace = holder.store.namespace().clone();
    holder
        .map
        .open(&namespace)
        .administration()
        .start_quarantine()
        .unwrap();
    let (end, asked) = holder.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 2]);
    let (end, asked) = holder.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [0, 1]);
}

#[test]
fn an_engine_that_is_another_is_noticed() {
    let mut holder = Holder::new();
    holder.map.state().fingerprint = "another".to_owned();
    let (end, asked) = holder.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 2]);
    assert!(
        !holder
            .store
            .administration()
            .start_quarantine()
            .unwrap()
            .is_zero()
    );
}

#[test]
fn a_lease_that_vanished_is_noticed() {
    let mut holder = Holder::new();
    let key = Key::Node(holder.grant.node_id);
    let forgotten = holder.map.state().texts.remove(&key);
    assert!(forgotten.is_some());
    let (end, asked) = holder.renew();
    assert_eq!(end.unwrap(), Err(Loss::Forgotten));
    assert_eq!(asked, [1, 2]);
}

#[test]
fn a_refusal_leaves_what_is_known_of_the_clock() {
    let mut holder = Holder::new();
    holder.pass(Duration::from_secs(20));
    let refused = holder.store.administration().reopen_namespace();
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    let (end, asked) = holder.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [0, 1]);
}

const PAUSE: Duration = Duration::from_secs(20);
/// Drift of the clock per pause.
const DRIFT: Duration = Duration::from_millis(900);

/// An engine, and a holder's wall and monotonic clock. Its longest TTL is that of its leases.
struct DriftingClock {
    map: Map,
    namespace: Namespace,
    wall: Arc<ManualClock>,
    monotonic: Arc<ManualClock>,
}

impl DriftingClock {
    fn new() -> Self {
        let map = Map::new();
        let namespace = Namespace::new("orders", Randflake).unwrap();
        Self {
            map,
            namespace: namespace.with_max_ttl(Duration::from_secs(TTL)),
            wall: Arc::new(ManualClock::at_unix_ms(ms(BEGIN))),
            monotonic: Arc::new(ManualClock::at_unix_ms(0)),
        }
    }

    fn open(&self) -> LeaseStore {
        let store = self.map.open(&self.namespace);
        store.simulated_on(Arc::clone(&self.wall), Arc::clone(&self.monotonic))
    }

    fn pass(&self, span: Duration) {
        self.map.state().now += span;
        self.wall.advance_ms(ms(span));
        self.monotonic.advance_ms(ms(span));
    }

    /// Renews as the store's clock drifts, until that is refused or the clock is half a minute
    /// ahead; gives the refusal.
    fn drift(&self, store: &mut LeaseStore, grant: &mut Grant) -> Option<StoreError> {
        for _ in 0..40 {
            self.pass(PAUSE);
            self.map.state().now += DRIFT;
            match store.renew(&[*grant], TTL) {
                Ok(renewed) => grant.end = renewed.ends[0].unwrap(),
                Err(refusal) => return Some(refusal),
            }
        }
        None
    }
}

/// The server is replaced by one with the right time and an early state, and the holder is cut off
/// from it.
#[test]
fn lease_renewed_by_a_drifting_clock_stays_taken() {
    let clock = DriftingClock::new();
    let mut store = clock.open();
    let mut grant = acquire_one(&mut store).unwrap();
    let early = clock.map.state().texts.clone();
    clock.drift(&mut store, &mut grant);

    let right = clock.wall.now().unwrap();
    {
        let mut state = clock.map.state();
        (state.now, state.texts) = (right, early);
        state.fingerprint = "another".to_owned();
    }
    let mut other = clock.open();
    let chosen = NodeIds::These(&[grant.node_id]);
    let later = loop {
        match acquire(&mut other, chosen) {
            Ok(later) => break later[0],
            Err(StoreError::Quarantined { retry_in, .. }) => clock.pass(retry_in),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(grant.end <= later.start, "{grant:?} and {later:?}");
}

#[test]
fn a_clock_that_drifted_away_is_refused_as_skewed() {
    let clock = DriftingClock::new();
    let mut store = clock.open();
    let mut grant = acquire_one(&mut store).unwrap();
    let refusal = clock.drift(&mut store, &mut grant).unwrap();
    assert!(
        matches!(refusal, StoreError::ClockSkew { .. }),
        "{refusal:?}"
    );
    let ahead = clock.map.state().now.abs_diff(clock.wall.now().unwrap());
    assert!(ahead > MAX_SKEW && ahead < MAX_SKEW + DRIFT, "{ahead:?}");
}

/// The last comparison does not count for ever: 500 ppm are ten seconds in five hours and a half.
#[test]
fn clock_drifting_with_monotonic_time_is_skewed() {
    let clock = DriftingClock::new();
    let mut store = clock.open();
    let mut grant = acquire_one(&mut store).unwrap();
    let drift = PAUSE / 2_000;
    let (refusal, ahead) = loop {
        clock.pass(PAUSE);
        clock.map.state().now += drift;
        clock.monotonic.advance_ms(ms(drift));
        let ahead = clock.map.state().now.abs_diff(clock.wall.now().unwrap());
        match store.renew(&[grant], TTL) {
            Ok(renewed) => grant.end = renewed.ends[0].unwrap(),
            Err(refusal) => break (refusal, ahead),
        }
        assert!(ahead < MAX_SKEW + 2 * drift, "{ahead:?}");
    };
    assert!(
        matches!(refusal, StoreError::ClockSkew { .. }),
        "{refusal:?}"
    );
    assert!(ahead > MAX_SKEW, "{ahead:?}");
}

/// The wall clock is read again in good time, and no renewal fails for it.
#[test]
fn a_holder_goes_on_for_days() {
    let clock = DriftingClock::new();
    let mut store = clock.open();
    let mut grant = acquire_one(&mut store).unwrap();
    for _ in 0..10_000 {
        clock.pass(PAUSE);
        grant.end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    }
}

/// Which of the two is wrong does not matter as long as they agree: both may be set.
#[test]
fn a_clock_that_drifts_with_the_machine_s_is_followed() {
    let clock = DriftingClock::new();
    let mut store = clock.open();
    let mut grant = acquire_one(&mut store).unwrap();
    for _ in 0..40 {
        clock.pass(PAUSE);
        clock.map.state().now += DRIFT;
        clock.wall.advance_ms(ms(DRIFT));
        grant.end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// An engine that writes one node id at a time, in a second each.
#[derive(Debug)]
struct OneByOne(Map);

impl Watcher for OneByOne {
    fn profile(&self, profile: Profile) -> Profile {
        Profile {
            max_batch: 1,
            ..profile
        }
    }

    fn has_written(&mut self, _: &Write, _: WriteOutcome) {
        self.0.state().now += SECOND;
    }
}

fn open_one_by_one(map: &Map) -> LeaseStore {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    watched(map.open(&namespace), OneByOne(map.clone()))
}

/// Three leases of one process.
fn three() -> (Map, LeaseStore, Vec<Grant>) {
    let map = Map::new();
    let mut store = open_one_by_one(&map);
    let grants = (0..3).map(|_| acquire_one(&mut store).unwrap()).collect();
    (map, store, grants)
}

#[test]
fn an_acquire_is_all_or_nothing_so_it_is_not_split() {
    let (_, mut store, _) = three();
    let refused = acquire(&mut store, NodeIds::Any(2)).unwrap_err();
    assert!(refused.to_string().ends_with("at most 1"), "{refused}");
}

#[test]
fn batched_renewal_answers_for_each_lease() {
    let (map, store, grants) = three();
    // Also where a process has seen nothing of the namespace.
    for mut store in [store, open_one_by_one(&map)] {
        let begun = map.state().now;
        let renewed = store.renew(&grants, TTL).unwrap();
        let ends: Vec<_> = renewed.ends.iter().map(|end| end.unwrap()).collect();
        let first = grants[0].end - grants[0].start;
        assert_eq!(first, TTL);
        let expected = (0..3).map(|nth| {
            let written = begun + nth * SECOND;
            store.namespace().spec().tick_at(written).unwrap() + TTL
        });
        assert_eq!(ends, expected.collect::<Vec<_>>());
        assert_eq!(renewed.now, begun + 2 * SECOND);
    }
}

/// Its record was deleted and made anew, and those of its node ids are there still.
#[test]
fn every_lease_ends_with_its_namespace() {
    let (map, mut store, grants) = three();
    map.state().texts.remove(&Key::Namespace);
    let mut another = open_one_by_one(&map);
    another.administration().create_namespace().unwrap();
    another.administration().override_quarantine().unwrap();
    let renewed = store.renew(&grants, TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten); 3]);
}
