//! When a store that was made a moment ago grants.

use randflake_core::{Instagram, Layout, Mastodon, Snowflake, Sonyflake};

use super::*;
use crate::rules::{Acquire, acquire, youth};
use crate::types::{AcquireRequest, NodeIds, StoreError};

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
fn a_node_id_that_was_probably_leased_before_waits_for_a_look_of_its_holder() {
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
fn a_store_that_a_wrong_clock_has_made_later_than_now_grants() {
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
