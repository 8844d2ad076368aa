//! Windows of clocks, and stores that were made a moment ago.

use randflake_core::{
    Instagram, Layout, LayoutFields, ManualClock, Mastodon, Snowflake, Sonyflake,
};

use super::*;
use crate::rules::{Acquire, StoreTime, acquire, read_clock, youth};
use crate::types::{AcquireRequest, NodeIds, StoreError};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn ends(window: ClockWindow) -> [u128; 2] {
    [window.least, window.most].map(|time| time.as_millis())
}

#[test]
fn a_window_is_around_what_is_expected() {
    for (before, after) in [(30_000, 31_000), (31_000, 30_000)] {
        let window = ClockWindow::of_machine(ms(before), ms(after));
        assert_eq!(ends(window), [20_000, 41_000]);
        // A second of drift less, and what is left of the skew.
        let age = Duration::from_secs(2_000);
        let carried = ClockWindow::of_machine_carried(ms(before), ms(after), age);
        assert_eq!(carried.map(ends), Some([21_000, 40_000]));
    }
    assert_eq!(ends(ClockWindow::of_machine(ms(1), ms(2))), [0, 10_002]);
    assert_eq!(
        ends(ClockWindow::of_store(ms(30_000), ms(31_000))),
        [29_000, 32_000]
    );
}

/// Within the one of the machine's clock.
#[test]
fn a_blind_renewal_arrives_soon_after_its_estimate() {
    let blind = |estimate, least, most| {
        let near = ClockWindow {
            least: ms(least),
            most: ms(most),
        };
        ClockWindow::of_blind_renewal(ms(estimate), &near).map(ends)
    };
    assert_eq!(blind(30_000, 20_000, 40_000), Some([29_000, 32_000]));
    assert_eq!(blind(30_000, 29_500, 31_500), Some([29_500, 31_500]));
    assert_eq!(blind(30_000, 30_000, 30_000), Some([30_000, 30_000]));
    assert_eq!(blind(30_000, 30_001, 40_000), None);
    assert_eq!(blind(30_000, 20_000, 29_999), None);
}

#[test]
fn clock_outside_its_window_is_refused() {
    let window = ClockWindow {
        least: ms(2_000),
        most: ms(6_000),
    };
    for store in [2_000, 6_000] {
        assert!(window.check(ms(store)).is_ok());
    }
    for outside in [1_999, 6_001] {
        let Err(StoreError::ClockSkew { store, here }) = window.check(ms(outside)) else {
            panic!("{outside}");
        };
        assert_eq!((store, here), (ms(outside), ms(4_000)));
    }
}

fn spec(bits: u32, epoch_unix_ms: u64) -> LayoutSpec {
    LayoutSpec::new(LayoutFields::in_order([bits, 4, 4], epoch_unix_ms, 1_000)).unwrap()
}

fn at(tick: u64, spec: LayoutSpec) -> StoreTime {
    StoreTime::at(ms(spec.unix_ms(tick)), spec).unwrap()
}

/// Which may be one that is not set yet, where machines start in 1970.
#[test]
fn a_clock_before_the_epoch_is_refused() {
    let spec = spec(30, 1_800_000_000_000);
    let refused = |unix| StoreTime::at(seconds(unix), spec).unwrap_err();
    assert!(matches!(refused(0), StoreError::Unavailable(_)));
    assert!(matches!(refused(1_729_999_999), StoreError::Unavailable(_)));
    assert!(matches!(refused(1_730_000_000), StoreError::Invalid(_)));
    assert!(matches!(refused(1_799_999_999), StoreError::Invalid(_)));
    assert_eq!(StoreTime::at(seconds(1_800_000_000), spec).unwrap().tick, 0);
}

#[test]
fn a_lease_ends_after_its_ttl_or_with_the_layout() {
    let spec = spec(8, 1_700_000_000_000);
    for (tick, end) in [(100, 160), (196, 256), (197, 256), (255, 256)] {
        assert_eq!(at(tick, spec).end_after(60).unwrap(), end);
        assert_eq!(at(tick, spec).extended(60), end);
    }
    let over = StoreTime::at(ms(spec.unix_ms(255)) + seconds(1), spec).unwrap();
    assert!(matches!(
        over.end_after(60),
        Err(StoreError::FailedPrecondition(_))
    ));
    assert_eq!(over.extended(60), 256);
}

#[test]
fn a_tick_begins_in_a_millisecond_at_least() {
    let now = StoreTime::at(unix(NOW) + ms(400), SPEC).unwrap();
    assert_eq!(now.tick, NOW);
    assert_eq!(now.until(NOW + 1), ms(600));
    assert_eq!(now.until(NOW), ms(1));
    assert_eq!(at(NOW, Snowflake::SPEC).until(NOW + 5), ms(5));
}

#[test]
fn a_clock_that_does_not_know_the_time_is_an_outage() {
    assert_eq!(read_clock(&ManualClock::at_unix_ms(7)).unwrap(), ms(7));
    assert!(read_clock(&ManualClock::unknown()).is_err());
}

const ANY: NodeIds<'_> = NodeIds::Any(1);
const CHOSEN: NodeIds<'_> = NodeIds::These(&[7]);
const ALL: (u32, u32) = (0, u32::MAX);

/// A store that was made so many milliseconds before the middle of the present tick.
fn made_ago(ms: u64) -> World {
    let mut world = World::new(&[]).with_unleased(&[7, 8]);
    world.view.now += Duration::from_millis(500);
    let now_ms = u64::try_from(world.view.now.as_millis()).unwrap();
    world.view.continuity.made_unix_ms = now_ms - ms;
    world
}

fn wait(world: &World, within: (u32, u32), nodes: NodeIds<'_>) -> Option<Duration> {
    let request = AcquireRequest {
        token: token(),
        holder: "holder",
        nodes,
        ttl: 60,
    };
    let acquisition = Acquire {
        request,
        tried: &[],
        within,
    };
    let decision = acquire(&world.view, &acquisition, &world.caller());
    match decision.answer {
        Ok(granted) => {
            assert_eq!(granted.len(), nodes.count() as usize);
            None
        }
        Err(StoreError::Quarantined {
            retry_in,
            quarantine,
        }) => {
            // Nothing of it is kept: the next process asks the store for itself.
            assert!(decision.change.is_empty());
            assert_eq!(quarantine.cause, QuarantineCause::Young);
            assert_eq!(quarantine.until, world.view.now + retry_in);
            Some(retry_in)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_first_lease_begins_with_the_next_tick() {
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(wait(&made_ago(0), ALL, ANY), ms(500));
    assert_eq!(wait(&made_ago(499), ALL, ANY), ms(500));
    // Made as this tick began.
    assert_eq!(wait(&made_ago(500), ALL, ANY), ms(500));
    assert_eq!(wait(&made_ago(501), ALL, ANY), None);
}

#[test]
fn reused_node_id_waits_until_its_holder_has_looked() {
    let ms = |ms| Some(Duration::from_millis(ms));
    let few = (0, (1 << 14) - 2);
    for (within, nodes) in [(ALL, CHOSEN), (few, ANY), ((7, 7), ANY)] {
        assert_eq!(wait(&made_ago(0), within, nodes), ms(3_500));
        assert_eq!(wait(&made_ago(3_500), within, nodes), ms(500));
        assert_eq!(wait(&made_ago(3_501), within, nodes), None);
    }
    // So many at once are probably near those from before.
    let enough = (0, (1 << 14) - 1);
    assert_eq!(wait(&made_ago(501), enough, ANY), None);
    assert_eq!(wait(&made_ago(501), enough, NodeIds::Any(2)), ms(2_500));
}

#[test]
fn ticks_that_are_short_begin_a_second_later() {
    let all = |spec: LayoutSpec| u64::from(spec.max_node_id()) + 1;
    let youth = |spec: LayoutSpec, nodes| youth(&spec, all(spec), nodes).as_millis();
    assert_eq!(youth(SPEC, ANY), 0);
    assert_eq!(youth(SPEC, NodeIds::Any(8)), 0);
    assert_eq!(youth(SPEC, NodeIds::Any(9)), 3_000);
    assert_eq!(youth(SPEC, CHOSEN), 3_000);
    assert_eq!(youth(Sonyflake::SPEC, ANY), 1_000);
    assert_eq!(youth(Sonyflake::SPEC, CHOSEN), 3_000);
    for few in [Instagram::SPEC, Snowflake::SPEC, Mastodon::SPEC] {
        assert_eq!(youth(few, ANY), 3_000);
    }
}

#[test]
fn store_made_in_the_future_by_a_wrong_clock_grants() {
    let mut world = made_ago(0);
    let now_ms = world.view.continuity.made_unix_ms;
    world.view.continuity.made_unix_ms = now_ms + SKEW * 1_000;
    assert_eq!(wait(&world, ALL, ANY), Some(Duration::from_millis(20_500)));
    world.view.continuity.made_unix_ms += 1;
    assert_eq!(wait(&world, ALL, ANY), None);
}

#[test]
fn an_engine_that_says_nothing_of_its_age_grants() {
    let mut world = made_ago(0);
    world.view.continuity.made_unix_ms = 0;
    assert_eq!(wait(&world, ALL, CHOSEN), None);
}

#[test]
fn a_quarantine_goes_before() {
    let mut world = made_ago(0).quarantined(QuarantineCause::Lost, NOW + 80);
    let request = AcquireRequest {
        token: token(),
        holder: "holder",
        nodes: CHOSEN,
        ttl: 60,
    };
    let acquisition = Acquire {
        request,
        tried: &[],
        within: ALL,
    };
    let cause = |world: &World| match acquire(&world.view, &acquisition, &world.caller()).answer {
        Err(StoreError::Quarantined { quarantine, .. }) => quarantine.cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(cause(&world), QuarantineCause::Lost);
    world.namespace().quarantine = 0;
    assert_eq!(cause(&world), QuarantineCause::Young);
}
