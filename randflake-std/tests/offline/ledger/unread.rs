//! A renewal is written without a read before, as long as all is as this process left it.

use core::time::Duration;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::engine::Profile;
use randflake_std::unstable::rules::{Key, Loss};

use super::engine::Map;
use crate::watched::{Watcher, watched};

const BEGIN: Duration = Duration::from_secs(1_800_000_000);
const TTL: u64 = 60;

/// A holder, its machine's wall and monotonic clock, and the engine with a clock of its own.
struct World {
    map: Map,
    store: LeaseStore,
    wall: Arc<ManualClock>,
    monotonic: Arc<ManualClock>,
    grant: Grant,
}

impl World {
    fn new() -> Self {
        let map = Map::default();
        map.state().now = BEGIN;
        let wall = Arc::new(ManualClock::at_unix_ms(ms(BEGIN)));
        let monotonic = Arc::new(ManualClock::at_unix_ms(0));
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let clocks = (Arc::clone(&wall), Arc::clone(&monotonic));
        let mut store = map.open(&namespace).simulated_on(clocks.0, clocks.1);
        let grant = acquire(&mut store);
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

fn acquire(store: &mut LeaseStore) -> Grant {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    });
    acquired.unwrap().grants[0]
}

#[test]
fn a_renewal_is_one_write() {
    let mut world = World::new();
    for _ in 0..10 {
        world.pass(Duration::from_secs(20));
        let (end, asked) = world.renew();
        world.grant.end += 20;
        assert_eq!(end.unwrap(), Ok(world.grant.end));
        assert_eq!(asked, [0, 1]);
    }
}

#[test]
fn what_has_expired_is_not_renewed() {
    for (wait, is_live) in [(59_999, true), (60_000, false)] {
        let mut world = World::new();
        world.pass(Duration::from_millis(wait));
        assert_eq!(world.renew().0.unwrap().is_ok(), is_live, "{wait} ms");
    }
}

/// Of two leases one has expired: a loss is not told from memory.
#[test]
fn all_are_renewed_unread_or_none() {
    let mut world = World::new();
    world.pass(Duration::from_secs(30));
    let later = acquire(&mut world.store);
    world.pass(Duration::from_secs(30));
    world.map.state().reads = 0;
    let renewed = world.store.renew(&[later, world.grant], TTL).unwrap();
    assert!(renewed.ends[0].is_ok() && renewed.ends[1].is_err());
    assert_eq!(world.map.state().reads, 1);
}

/// The request was on its way until between the ends of two leases.
#[test]
fn late_write_for_one_lease_renews_none_unread() {
    let mut world = World::new();
    world.pass(Duration::from_secs(2));
    let later = acquire(&mut world.store);
    world.pass(Duration::from_secs(57));
    {
        let mut state = world.map.state();
        state.meanwhile = Some((state.texts.clone(), BEGIN + Duration::from_secs(TTL)));
    }
    let renewed = world.store.renew(&[later, world.grant], TTL).unwrap();
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
    let mut world = World::new();
    world.store = watched(world.store, Reads);
    assert!(world.renew().0.unwrap().is_ok());
    let (end, asked) = world.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 1]);
}

/// The lease would have lived by this machine's clocks, or is over by them.
#[test]
fn leapt_store_clock_is_asked_and_refused_once() {
    for leap in [-3_600, -2, 3, 30, 59, 61, 3_600_i64] {
        let mut world = World::new();
        world.pass(Duration::from_secs(20));
        let leapt = i64::try_from(ms(BEGIN)).unwrap() + (20 + leap) * 1_000;
        world.map.state().now = Duration::from_millis(leapt.unsigned_abs());
        let (outcome, asked) = world.renew();
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
    let mut world = World::new();
    let namespace = world.store.namespace().clone();
    world
        .map
        .open(&namespace)
        .administration()
        .start_quarantine()
        .unwrap();
    let (end, asked) = world.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 2]);
    let (end, asked) = world.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [0, 1]);
}

#[test]
fn an_engine_that_is_another_is_noticed() {
    let mut world = World::new();
    world.map.state().fingerprint = "another".to_owned();
    let (end, asked) = world.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [1, 2]);
    assert!(
        !world
            .store
            .administration()
            .start_quarantine()
            .unwrap()
            .is_zero()
    );
}

#[test]
fn a_lease_that_vanished_is_noticed() {
    let mut world = World::new();
    let key = Key::Node(world.grant.node_id);
    let forgotten = world.map.state().texts.remove(&key);
    assert!(forgotten.is_some());
    let (end, asked) = world.renew();
    assert_eq!(end.unwrap(), Err(Loss::Forgotten));
    assert_eq!(asked, [1, 2]);
}

#[test]
fn a_refusal_leaves_what_is_known_of_the_clock() {
    let mut world = World::new();
    world.pass(Duration::from_secs(20));
    let refused = world.store.administration().reopen_namespace();
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    let (end, asked) = world.renew();
    assert!(end.unwrap().is_ok());
    assert_eq!(asked, [0, 1]);
}
