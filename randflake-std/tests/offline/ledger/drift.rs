//! A store whose clock drifts away slowly, by less between two answers than counts as a leap: what a server does that
//! slews its clock to a wrong time.

use core::time::Duration;
use std::sync::Arc;

use randflake_core::{Clock, ManualClock};
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, MAX_SKEW, Namespace, NodeIds, StoreError, Token,
};

use super::engine::Map;

const BEGIN: Duration = Duration::from_secs(1_800_000_000);
const TTL: u64 = 60;
const PAUSE: Duration = Duration::from_secs(20);
/// Drift of the clock per pause.
const DRIFT: Duration = Duration::from_millis(900);

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap()
}

/// An engine, and a holder's wall and monotonic clock. Its longest TTL is that of its leases.
struct World {
    map: Map,
    namespace: Namespace,
    wall: Arc<ManualClock>,
    monotonic: Arc<ManualClock>,
}

impl World {
    fn new() -> Self {
        let map = Map::default();
        map.state().now = BEGIN;
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

    /// Renews as the store's clock drifts, until that is refused or the clock is half a minute ahead; gives the refusal.
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

fn acquire(store: &mut LeaseStore, nodes: NodeIds<'_>) -> Result<Grant, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes,
        ttl: TTL,
    });
    acquired.map(|acquired| acquired.grants[0])
}

/// The server is replaced by one with the right time and an early state, and the holder is cut off from it.
#[test]
fn lease_renewed_by_a_drifting_clock_stays_taken() {
    let world = World::new();
    let mut store = world.open();
    let mut grant = acquire(&mut store, NodeIds::Any(1)).unwrap();
    let early = world.map.state().texts.clone();
    world.drift(&mut store, &mut grant);

    let right = world.wall.now().unwrap();
    {
        let mut state = world.map.state();
        (state.now, state.texts) = (right, early);
        state.fingerprint = "another".to_owned();
    }
    let mut other = world.open();
    let chosen = NodeIds::These(&[grant.node_id]);
    let later = loop {
        match acquire(&mut other, chosen) {
            Ok(later) => break later,
            Err(StoreError::Quarantined { retry_in, .. }) => world.pass(retry_in),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(grant.end <= later.start, "{grant:?} and {later:?}");
}

#[test]
fn a_clock_that_drifted_away_is_refused_as_skewed() {
    let world = World::new();
    let mut store = world.open();
    let mut grant = acquire(&mut store, NodeIds::Any(1)).unwrap();
    let refusal = world.drift(&mut store, &mut grant).unwrap();
    assert!(
        matches!(refusal, StoreError::ClockSkew { .. }),
        "{refusal:?}"
    );
    let ahead = world.map.state().now.abs_diff(world.wall.now().unwrap());
    assert!(ahead > MAX_SKEW && ahead < MAX_SKEW + DRIFT, "{ahead:?}");
}

/// The last comparison does not count for ever: 500 ppm are ten seconds in five hours and a half.
#[test]
fn clock_drifting_with_monotonic_time_is_skewed() {
    let world = World::new();
    let mut store = world.open();
    let mut grant = acquire(&mut store, NodeIds::Any(1)).unwrap();
    let drift = PAUSE / 2_000;
    let (refusal, ahead) = loop {
        world.pass(PAUSE);
        world.map.state().now += drift;
        world.monotonic.advance_ms(ms(drift));
        let ahead = world.map.state().now.abs_diff(world.wall.now().unwrap());
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
    let world = World::new();
    let mut store = world.open();
    let mut grant = acquire(&mut store, NodeIds::Any(1)).unwrap();
    for _ in 0..10_000 {
        world.pass(PAUSE);
        grant.end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    }
}

/// Which of the two is wrong does not matter as long as they agree: both may be set.
#[test]
fn a_clock_that_drifts_with_the_machine_s_is_followed() {
    let world = World::new();
    let mut store = world.open();
    let mut grant = acquire(&mut store, NodeIds::Any(1)).unwrap();
    for _ in 0..40 {
        world.pass(PAUSE);
        world.map.state().now += DRIFT;
        world.wall.advance_ms(ms(DRIFT));
        grant.end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    }
}
