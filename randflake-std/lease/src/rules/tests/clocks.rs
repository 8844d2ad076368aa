//! Clocks of stores, stores that were made a moment ago, and what a process has observed.

use randflake_core::{
    Instagram, Layout, LayoutFields, ManualClock, Mastodon, Snowflake, Sonyflake,
};

use super::*;
use crate::rules::{Acquire, NodeChange, StoreTime, acquire, read_clock, youth};
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

fn seen(record: NamespaceRecord) -> Observed {
    World::new(&[]).has_seen(record, NOW).seen
}

#[test]
fn a_record_is_compared_with_the_one_that_was_seen() {
    let record = |namespace_nonce, writes, quarantine| NamespaceRecord {
        namespace_nonce,
        writes,
        quarantine,
        ..namespace()
    };
    let observed = seen(record(7, 3, 0));
    for (now, is_missed, is_contradicted, has_changed) in [
        (None, true, true, true),
        (Some(record(7, 3, 0)), false, false, false),
        (Some(record(7, 4, 0)), false, false, false),
        (Some(record(7, 4, 1)), false, false, true),
        (Some(record(7, 2, 0)), false, true, true),
        (Some(record(8, 3, 0)), true, true, true),
        (Some(record(8, 4, 0)), true, true, true),
    ] {
        let now = now.as_ref();
        assert_eq!(observed.misses(now), is_missed, "{now:?}");
        assert_eq!(observed.contradicts(now), is_contradicted, "{now:?}");
        assert_eq!(observed.has_changed(now), has_changed, "{now:?}");
        let nothing = Observed::default();
        assert!(!nothing.misses(now) && !nothing.contradicts(now) && !nothing.has_changed(now));
    }
    assert_eq!(observed.namespace_nonce(), Some(7));
    assert!(observed.former_of(&record(7, 4, 0)).is_none());
    let (former, at) = observed.former_of(&record(8, 1, 0)).unwrap();
    assert_eq!((former.namespace_nonce, *at), (7, unix(NOW)));
}

#[test]
fn ends_of_own_leases_are_remembered() {
    let world = World::new(&[]);
    assert_eq!(
        (
            world.seen.end_of(5),
            world.seen.latest_end(),
            world.seen.has_leased()
        ),
        (0, 0, false)
    );
    let seen = world.has_leased(5, NOW + 9).has_leased(6, NOW + 7).seen;
    assert_eq!(
        [5, 6, 7].map(|node_id| seen.end_of(node_id)),
        [NOW + 9, NOW + 7, 0]
    );
    assert_eq!(seen.latest_end(), NOW + 9);
    assert!(seen.has_leased());
}

#[test]
fn leases_of_others_are_not_remembered() {
    let mut world = World::new(&[]);
    assert!(!world.seen.is_proxy());
    world.seen.act_as_proxy();
    assert!(world.seen.is_proxy());
    let seen = world.has_leased(5, NOW + 9).seen;
    assert!(seen.has_leased());
    assert_eq!((seen.end_of(5), seen.latest_end()), (0, 0));
}

#[test]
fn lease_is_known_by_its_last_and_tried_writes() {
    let record = lease(5, NOW, NOW + 60);
    let grant = record.grant();
    let mut seen = Observed::default();
    let known = |seen: &Observed, grant| {
        let held = seen.current_lease(&grant);
        assert_eq!((held.grant, held.next), (grant, None));
        let node = seen
            .node_of(&grant)
            .map(|node| (node.node_id, node.record.unwrap()));
        (held.written, held.tried, node)
    };
    let nothing = (None, vec![], None);
    assert_eq!(known(&seen, grant), nothing);
    seen.note(&record);
    let node = Some((5, record.clone()));
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![], node.clone()));
    let mut other = grant;
    other.fencing_token += 1;
    assert_eq!(known(&seen, other), nothing);

    let tried = [5, 6].map(|node_id| NodeChange {
        before: None,
        after: lease(node_id, NOW, NOW + 60),
    });
    seen.note_tried(&tried, 60);
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![60], None));
    assert_eq!(known(&seen, tried[1].after.grant()), nothing);
    // Settled by a write that was answered.
    seen.note(&record);
    assert_eq!(known(&seen, grant), (Some((5, 50)), vec![], node));
}

/// Any server may renew it, in turns.
#[test]
fn device_lease_is_not_known_by_its_last_write() {
    let record = NodeRecord {
        holder: "device/7".to_owned(),
        ..lease(5, NOW, NOW + 60)
    };
    let mut seen = Observed::default();
    seen.note(&record);
    assert_eq!(seen.current_lease(&record.grant()).written, None);
}

/// As a renewal without a read expects it.
#[test]
fn a_view_of_what_was_written_last_is_no_loss() {
    let mut record = namespace();
    "run:42".clone_into(&mut record.fingerprint);
    let record_of_node = lease(5, NOW, NOW + 60);
    let nodes = vec![
        Node {
            node_id: 6,
            record: None,
        },
        Node {
            node_id: 5,
            record: Some(record_of_node.clone()),
        },
    ];
    let view = View::carried(unix(NOW), record, nodes);
    assert_eq!(view.record(5), Some(&record_of_node));
    assert_eq!((view.record(6), view.record(7)), (None, None));
    assert!(!view.is_dropped());
    let world = World {
        view,
        ..World::new(&[])
    };
    let state = crate::rules::NamespaceState::of(&world.view, &world.caller()).unwrap();
    assert!(state.into_change().is_empty());
}
