//! Keepers that are not at work: each step is taken by the test, on a store whose clock stands
//! still.

#[cfg(feature = "metrics")]
mod reports;

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};

use randflake_core::{Clock, Codec, Field, Layout, LayoutFields, ManualClock, Plain};
use randflake_lease::LeaseStore;
use randflake_lease::MemoryStore;
use randflake_lease::Namespace;
use randflake_lease::backoff::LONGEST_PAUSE_PER_TTL;
use randflake_lease::unstable::clock;

use super::*;
use crate::generation::Generation;
use crate::handle::store_client::FIRST_PAUSE;

pub(in crate::handle) type AtRest<L> = LeaseKeeper<L, <L as Layout>::Permutation>;

const SLOW_TICK: Duration = Duration::from_secs(40 * 365 * 24 * 3_600);
pub(in crate::handle) const SLOW_TTL: Duration = SLOW_TICK.saturating_mul(3);

/// Eight node ids with four ids each in a tick of 40 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::handle) struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [16, 3, 2],
        0,
        1_000 * SLOW_TICK.as_secs(),
    ));
}

/// Ticks of a second, for more years than clocks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seconds;

impl Layout for Seconds {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 24,
        },
        node_id: Field { bits: 8, shift: 16 },
        sequence: Field { bits: 16, shift: 0 },
        epoch_unix_ms: 0,
        tick_ms: 1_000,
    });
}

const TTL: Duration = Duration::from_secs(60);
const NOW_S: u64 = 1_800_000_000;

/// A keeper of two node ids.
pub(in crate::handle) fn at_rest<L: Layout>(
    store: impl Into<LeaseStore>,
    codec: Codec<L>,
    range: RangeInclusive<u32>,
) -> AtRest<L> {
    let store: LeaseStore = store.into();
    let ttl = store.namespace().max_ttl();
    let mut client = StoreClient::new(store, "test/0".to_owned(), ttl);
    let (acquired, sent) = client.acquire(NodeIds::Any(2)).unwrap();
    let generation = Generation::constant();
    let issuers = Issuer::of_all(codec.layout(), &acquired, sent, generation.now()).unwrap();
    let (count, anchor) = (NodeIdCount::from(range), (acquired.now, sent));
    let shared = SharedHandle::new(issuers, count, Box::new(codec), 0, generation, anchor);
    LeaseKeeper::new(Arc::new(shared), client, acquired.grants, false, count)
}

pub(in crate::handle) fn slow(range: RangeInclusive<u32>) -> (AtRest<Slow>, MemoryStore) {
    let namespace = Namespace::new("test", Slow).unwrap().with_max_ttl(SLOW_TTL);
    let store = MemoryStore::new(namespace, Arc::new(ManualClock::at_unix_ms(NOW_S * 1_000)));
    (
        at_rest(store.clone(), Codec::new(Slow, Plain), range),
        store,
    )
}

/// A store of leases for a minute, and its clock.
fn store_of_a_minute() -> (MemoryStore, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at_unix_ms(NOW_S * 1_000));
    let namespace = Namespace::new("test", Seconds).unwrap().with_max_ttl(TTL);
    (MemoryStore::new(namespace, Arc::clone(&clock)), clock)
}

/// Two node ids for a minute.
fn fixed() -> (AtRest<Seconds>, MemoryStore, Arc<ManualClock>) {
    let (store, clock) = store_of_a_minute();
    let keeper = at_rest(store.clone(), Codec::new(Seconds, Plain), 2..=2);
    (keeper, store, clock)
}

fn about(pause: Duration, expected: Duration) -> bool {
    (expected * 9 / 10..=expected * 11 / 10).contains(&pause)
}

fn node_ids(keeper: &AtRest<Seconds>) -> Vec<u32> {
    keeper
        .leases
        .iter()
        .map(|lease| lease.grant.node_id)
        .collect()
}

fn remaining(keeper: &AtRest<Seconds>, slot: usize) -> Duration {
    keeper.shared.slots.read().value(slot).unwrap().remaining()
}

fn holder_of(store: &MemoryStore, node_id: u32) -> String {
    let records = store.clone().list().unwrap().into_iter();
    let mut of_node_id = records.filter(|record| record.grant.node_id == node_id);
    of_node_id.next().unwrap().holder
}

#[test]
fn a_pause_ends_with_whatever_comes_first() {
    let now = Instant::now();
    let longest = metrics::REPORT_EVERY.unwrap_or(TTL);
    let (mut keeper, ..) = fixed();
    assert_eq!(keeper.pause(now + TTL, now), longest);
    assert_eq!(
        keeper.pause(now + Duration::from_millis(7), now),
        Duration::from_millis(7)
    );
    assert_eq!(keeper.pause(now, now + TTL), Duration::ZERO);
    let every = longest / 2;
    keeper.looks = LookSchedule::new(Some(every), false, TTL, now, 1.0);
    assert_eq!(keeper.pause(now + TTL, now), every);
    let (keeper, _) = slow(1..=8);
    assert_eq!(keeper.pause(now + TTL, now), Scale::PERIOD);
}

#[test]
fn renewal_extends_leases_and_follows_store_clock() {
    let (mut keeper, _, clock) = fixed();
    let former = node_ids(&keeper);
    clock.advance_ms(20_000);
    let pause = keeper.renew_and_replace();
    assert!(about(pause, TTL / RENEWALS_PER_TTL), "{pause:?}");
    assert_eq!(node_ids(&keeper), former);
    for lease in &keeper.leases {
        assert_eq!(lease.grant.end, NOW_S + 20 + 60);
        assert!(!lease.is_ending && lease.is_held);
        let left = remaining(&keeper, lease.slot);
        // The coarse clock may be some milliseconds late.
        assert!(left < TTL * 5 / 4 && left > TTL / 2, "{left:?}");
    }
    let now = keeper.shared.clock.exact().now().unwrap();
    assert!(now >= Duration::from_secs(NOW_S + 20));
    assert!(keeper.shared.phase.lock().last_error.is_none());
}

#[test]
fn retries_of_a_silent_store_back_off() {
    let (mut keeper, store, _) = fixed();
    store.fail_next(2);
    assert!(about(keeper.renew_and_replace(), FIRST_PAUSE));
    assert!(keeper.shared.phase.lock().last_error.is_some());
    assert!(about(keeper.renew_and_replace(), FIRST_PAUSE * 2));
    keeper.renew_and_replace();
    assert!(keeper.shared.phase.lock().last_error.is_none());
    store.fail_next(1);
    assert!(about(keeper.renew_and_replace(), FIRST_PAUSE));
}

#[test]
fn pause_after_a_failure_is_part_of_the_ttl() {
    let error = StoreError::unavailable("no answer");
    let longest = TTL / LONGEST_PAUSE_PER_TTL;
    assert!(about(failure_pause(&error, 40, TTL), longest));
    let exhausted = |retry_in| StoreError::Exhausted { retry_in };
    assert!(about(
        failure_pause(&exhausted(Duration::from_secs(5)), 0, TTL),
        Duration::from_secs(5)
    ));
    assert!(about(
        failure_pause(&exhausted(Duration::MAX), 0, TTL),
        longest
    ));
    assert!(about(
        failure_pause(&exhausted(Duration::ZERO), 0, TTL),
        FIRST_PAUSE
    ));
    let short = Duration::from_millis(300);
    assert!(about(
        failure_pause(&exhausted(Duration::MAX), 0, short),
        short / 6
    ));
}

#[test]
fn lost_lease_is_replaced_under_the_same_name() {
    let (mut keeper, store, _) = fixed();
    let lost = keeper.leases[0].grant;
    let name = holder_of(&store, lost.node_id);
    store.clone().release(&[lost]).unwrap();
    assert!(remaining(&keeper, 0) > Duration::ZERO);
    keeper.renew().unwrap();
    assert!(keeper.leases[0].is_ending && !keeper.leases[0].is_held);
    assert_eq!(remaining(&keeper, 0), Duration::ZERO);
    assert_eq!(keeper.shared.phase.lock().losses.released, 1);
    // A renewal of the other one.
    keeper.renew().unwrap();
    assert_eq!(keeper.shared.phase.lock().losses.released, 1);
    store.fail_next(1);
    assert!(keeper.replace().is_err());
    let replaced = keeper.shared.phase.lock().replaced;
    keeper.replace().unwrap();
    assert_eq!(keeper.shared.phase.lock().replaced, replaced + 1);
    assert!(keeper.leases[0].is_held && !keeper.leases[0].is_ending);
    assert!(remaining(&keeper, 0) > Duration::ZERO);
    assert_eq!(holder_of(&store, node_ids(&keeper)[0]), name);
}

#[test]
fn contested_lease_is_replaced_under_a_new_name() {
    let (mut keeper, store, _) = fixed();
    let former = node_ids(&keeper);
    let name = holder_of(&store, former[0]);
    store.clone().renew(&[keeper.leases[0].grant], 60).unwrap();
    keeper.renew_and_replace();
    assert_eq!(keeper.shared.phase.lock().losses.contested, 1);
    let next = node_ids(&keeper);
    assert!(!former.contains(&next[0]) && next[1] == former[1]);
    let other_name = holder_of(&store, next[0]);
    assert_ne!(other_name, name);
    let begin = name.rsplit_once('/').unwrap().0;
    assert!(other_name.starts_with(begin), "{other_name}");
    keeper.acquire(NodeIds::These(&[100])).unwrap();
    assert_eq!(holder_of(&store, 100), other_name);
}

#[test]
fn chosen_node_ids_are_replaced_by_themselves() {
    let (mut keeper, _, clock) = fixed();
    let acquired = keeper.acquire(NodeIds::These(&[100])).unwrap();
    for (grant, issuer) in acquired {
        keeper.shared.slots.replace(0, issuer);
        keeper.leases[0] = SlotLease::new(0, grant);
    }
    keeper.is_chosen = true;
    clock.advance_ms(61_000);
    keeper.renew_and_replace();
    assert_eq!(keeper.shared.phase.lock().losses.expired, 2);
    assert_eq!(node_ids(&keeper), [1, 100]);
    assert!(keeper.leases.iter().all(|lease| lease.is_held));
}

#[test]
fn lease_that_hardly_grows_is_replaced_and_released() {
    let (mut keeper, store, _) = fixed();
    let former = node_ids(&keeper);
    // Most of the lease has passed here, and no time in the store.
    for issuer in keeper.shared.slots.read().values() {
        let here = Duration::from_secs(NOW_S + 50);
        issuer.clock.anchor(here, clock::MonotonicTime::exact());
    }
    keeper.renew_and_replace();
    let next = node_ids(&keeper);
    assert!(
        next.iter().all(|node_id| !former.contains(node_id)),
        "{next:?}"
    );
    for record in store.clone().list().unwrap() {
        let is_given_back = former.contains(&record.grant.node_id);
        assert_eq!(is_given_back, record.grant.end <= NOW_S, "{record:?}");
    }
    // It begins where the store's clock is, which is before this handle's.
    assert!(keeper.shared.clock.exact().now().unwrap() >= Duration::from_secs(NOW_S));
    assert!(remaining(&keeper, 0) > Duration::ZERO);
}

#[test]
fn a_lease_whose_new_end_cannot_be_used_is_replaced() {
    let (mut keeper, _) = slow(2..=2);
    let (_, store, _) = fixed();
    keeper.client = StoreClient::new(store.into(), "other".to_owned(), TTL);
    // A layout of eight node ids has no 100.
    let (acquired, _) = keeper.client.acquire(NodeIds::These(&[100])).unwrap();
    keeper.leases.truncate(1);
    keeper.leases[0].grant = acquired.grants[0];
    keeper.renew().unwrap();
    let left = keeper.shared.slots.read().value(0).unwrap().remaining();
    assert!(left > TTL, "{left:?}");
    assert!(keeper.leases[0].is_ending && keeper.leases[0].is_held);
}

#[test]
fn a_lease_that_begins_later_has_no_time_left_yet() {
    let layout = Seconds;
    let grant = |start| Grant {
        start,
        end: start + 60,
        ..fixed().0.leases[0].grant
    };
    let left = |start| {
        let (now, sent) = (Duration::from_secs(NOW_S), clock::MonotonicTime::exact());
        let acquired = randflake_lease::Acquisition {
            grants: vec![grant(start)],
            last_writes: Vec::new(),
            now,
        };
        let issuers = Issuer::of_all(layout, &acquired, sent, 0).unwrap();
        issuers[0].remaining()
    };
    assert_eq!(left(NOW_S + 30), Duration::ZERO);
    assert!(left(NOW_S) > TTL / 2);
}

#[test]
fn grants_past_the_end_of_clocks_are_not_kept() {
    let (_, store, clock) = fixed();
    let end_ms = u64::try_from(clock::END.as_millis()).unwrap();
    clock.set_unix_ms(end_ms);
    let mut client = StoreClient::new(store.clone().into(), "other".to_owned(), TTL);
    let refused = client.acquire(NodeIds::These(&[100])).unwrap_err();
    assert!(
        refused.to_string().contains("times before 2500-"),
        "{refused}"
    );
    let records = store.clone().list().unwrap().into_iter();
    let mut kept = records
        .map(|record| record.grant)
        .filter(|grant| grant.node_id == 100);
    assert!(kept.all(|grant| grant.end == grant.start));
    clock.set_unix_ms(end_ms - 1_000);
    client.acquire(NodeIds::These(&[101])).unwrap();
}

#[test]
fn renamed_holder_repeats_no_earlier_request() {
    let (_, store, _) = fixed();
    let mut client = StoreClient::new(store.clone().into(), "other/0".to_owned(), TTL);
    let count = || store.clone().list().unwrap().len();
    store.lose_replies(2);
    client.acquire(NodeIds::Any(1)).unwrap_err();
    assert_eq!(count(), 3);
    client.rename();
    client.acquire(NodeIds::Any(1)).unwrap_err();
    assert_eq!(count(), 4);
    client.acquire(NodeIds::Any(1)).unwrap();
    assert_eq!(count(), 4, "what was not answered is repeated");
}

#[test]
fn all_that_is_held_is_released_at_the_end() {
    let (mut keeper, store, _) = fixed();
    let id = keeper.shared.generate().unwrap();
    let last = keeper.shared.codec.inspect(id).tick;
    keeper.release_all().unwrap();
    assert!(keeper.leases.iter().all(|lease| !lease.is_held));
    let records = store.clone().list().unwrap().into_iter();
    let used = records.map(|record| record.grant.end - record.grant.start);
    assert_eq!(used.sum::<u64>(), last - NOW_S + 1);
}

#[test]
fn capacity_is_what_all_leases_allow_in_a_second() {
    let per_second = |spec, leases| capacity(spec, leases).to_bits();
    assert_eq!(per_second(Seconds::SPEC, 3), (3.0_f64 * 65_536.0).to_bits());
    let of_ms = randflake_core::Snowflake::SPEC;
    assert_eq!(per_second(of_ms, 2), 8_192_000.0_f64.to_bits());
}

/// A keeper on a machine that has been copied since its leases were granted.
fn copied() -> (AtRest<Seconds>, MemoryStore) {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let (mut keeper, store, _) = fixed();
    let shared = Arc::get_mut(&mut keeper.shared).unwrap();
    shared.generation = Generation::from(&NUMBER);
    assert_eq!(NUMBER.load(Ordering::SeqCst), 1);
    (keeper, store)
}

fn ends(store: &MemoryStore) -> Vec<u64> {
    let records = store.clone().list().unwrap().into_iter();
    records.map(|record| record.grant.end).collect()
}

#[test]
fn copied_lease_is_lost_at_once_and_counted_once() {
    let (mut keeper, store) = copied();
    keeper.drop_copied_leases();
    keeper.drop_copied_leases();
    for lease in &keeper.leases {
        assert!(lease.is_ending && !lease.is_held);
        assert_eq!(remaining(&keeper, lease.slot), Duration::ZERO);
    }
    assert_eq!(keeper.shared.phase.lock().losses.contested, 2);
    assert_eq!(ends(&store), [NOW_S + 60; 2]);
}

#[test]
fn copied_lease_is_not_released_at_the_end() {
    let (keeper, store) = copied();
    let (other, other_store, _) = fixed();
    for keeper in [keeper, other] {
        keeper.shared.phase.change(|phase| phase.closing = true);
        keeper.run();
    }
    assert_eq!(ends(&store), [NOW_S + 60; 2]);
    assert_eq!(ends(&other_store), [NOW_S; 2]);
}

#[test]
fn grant_invalid_for_the_layout_is_released() {
    let (mut keeper, _) = slow(2..=2);
    let (_, store, _) = fixed();
    keeper.client = StoreClient::new(store.clone().into(), "other".to_owned(), TTL);
    let Err(error) = keeper.acquire(NodeIds::These(&[100])) else {
        panic!("a layout of eight node ids has no 100");
    };
    assert!(error.to_string().contains("the store's grant"), "{error}");
    assert_eq!(ends(&store), [NOW_S + 60, NOW_S + 60, NOW_S]);
}

#[test]
fn an_acquire_brings_the_store_s_time() {
    let (mut keeper, _, clock) = fixed();
    clock.advance_ms(1_000_000);
    keeper.acquire(NodeIds::These(&[100])).unwrap();
    let now = keeper.shared.clock.exact().now().unwrap();
    assert!(now >= Duration::from_secs(NOW_S + 1_000));
}

#[test]
fn without_leases_the_store_is_not_asked() {
    let (mut keeper, store, _) = fixed();
    keeper.release_all().unwrap();
    store.fail_next(1);
    keeper.renew().unwrap();
    keeper.client.release(&[]).unwrap();
}
