//! A drop that was interrupted between its two steps.

use core::time::Duration;

use randflake_std::lease::{
    AcquireRequest, DeviceError, DeviceRequest, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::rules::{Key, Loss};
use randflake_std::{Layout, Randflake, Snowflake};

use super::engine::Map;

const TTL: u64 = 60;
/// Longer than any lease and quarantine.
const LONG: Duration = Duration::from_secs(1_000);

fn acquire(store: &mut LeaseStore, ttl: u64) -> Result<u64, StoreError> {
    let asked = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::These(&[7]),
        ttl,
    };
    let acquired = store.acquire(&asked)?;
    Ok(acquired.grants[0].end)
}

/// Its leases are there still, in ticks of its layout.
fn half_dropped() -> Map {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&Namespace::new("orders", Snowflake).unwrap());
    acquire(&mut store, TTL * 1_000).unwrap();
    let leases = map.state().texts.clone();
    store.administration().drop_namespace().unwrap();
    let dropped = map.state().texts.clone();
    map.state().texts = leases.into_iter().chain(dropped).collect();
    assert!(map.state().texts.contains_key(&Key::Node(7)));
    map
}

#[test]
fn leases_of_another_layout_do_not_stand_in_the_way() {
    let map = half_dropped();
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    let refused = acquire(&mut store, TTL).unwrap_err();
    assert!(matches!(refused, StoreError::Dropped { .. }), "{refused:?}");
    assert!(map.state().texts.contains_key(&Key::Node(7)));
    assert!(store.administration().reopen_namespace().unwrap().is_some());
    assert!(!map.state().texts.contains_key(&Key::Node(7)));
    let refused = acquire(&mut store, TTL).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
    map.state().now += LONG;
    let end = acquire(&mut store, TTL).unwrap();
    let now = Randflake::SPEC.tick_at(map.state().now).unwrap();
    assert_eq!(end, now + TTL);
}

/// One of its leases was granted far ahead, by a wrong clock.
#[test]
fn reopened_namespace_waits_for_its_last_lease() {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    let mut ends = Vec::new();
    for (node_id, ahead) in [(3, 0), (5, 5_000), (7, 0)] {
        let now = map.state().now;
        map.state().now += Duration::from_secs(ahead);
        let acquired = store.acquire(&AcquireRequest {
            token: Token::random().unwrap(),
            holder: "holder",
            nodes: NodeIds::These(&[node_id]),
            ttl: TTL,
        });
        ends.push(acquired.unwrap().grants[0].end);
        map.state().now = now;
    }
    store.administration().drop_namespace().unwrap();
    let quarantine = store.administration().reopen_namespace().unwrap().unwrap();
    let last = Randflake::SPEC.unix_ms(ends[1]);
    assert_eq!(quarantine.until, Duration::from_millis(last));
}

/// By a user who may not delete.
#[test]
fn what_cannot_be_removed_is_not_dropped() {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    acquire(&mut store, TTL).unwrap();
    let before = map.state().texts.clone();
    map.state().fails_to_remove_from = Some(Key::Namespace);
    let refused = store.administration().drop_namespace().unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert_eq!(map.state().texts, before);
}

/// They would count as leases of the new namespace.
#[test]
fn namespace_with_old_leases_is_not_reopened() {
    let map = half_dropped();
    let before = map.state().texts.clone();
    map.state().fails_to_remove_from = Some(Key::Namespace);
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    let refused = store.administration().reopen_namespace().unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert_eq!(map.state().texts, before);
    map.state().fails_to_remove_from = None;
    store.administration().reopen_namespace().unwrap();
    assert!(!map.state().texts.contains_key(&Key::Node(7)));
}

#[test]
fn a_second_drop_ends_the_first() {
    let map = half_dropped();
    let mut store = map.open(&Namespace::new("orders", Snowflake).unwrap());
    store.administration().drop_namespace().unwrap();
    let left: Vec<_> = map.state().texts.keys().copied().collect();
    assert_eq!(left, [Key::Namespace]);
}

/// Whoever had a lease before the drop, or has seen the mark, acquires as anybody does once the quarantine is over: however
/// soon after the drop the namespace was opened again.
#[test]
fn old_holders_do_not_close_a_reopened_namespace() {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    for has_seen_the_mark in [false, true] {
        let map = Map::default();
        map.state().now = Duration::from_secs(1_800_000_000);
        let [mut holder, mut operator] = [0; 2].map(|_| map.open(&namespace));
        let granted = holder.acquire(&AcquireRequest {
            token: Token::random().unwrap(),
            holder: "holder",
            nodes: NodeIds::These(&[7]),
            ttl: TTL,
        });
        let grants = granted.unwrap().grants;
        map.state().now += Duration::from_secs(1);
        operator.administration().drop_namespace().unwrap();
        if has_seen_the_mark {
            let renewed = holder.renew(&grants, TTL).unwrap();
            assert_eq!(renewed.ends, [Err(Loss::Released)]);
        }
        map.state().now += Duration::from_secs(1);
        operator.administration().reopen_namespace().unwrap();
        map.state().now += LONG;
        acquire(&mut holder, TTL).unwrap();
    }
}

/// The drop's process was suspended, or its write was on its way for long.
#[test]
fn leases_renewed_during_a_drop_are_waited_for() {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let map = Map::default();
    let begin = Duration::from_secs(1_800_000_000);
    map.state().now = begin;
    let [mut holder, mut operator] = [0; 2].map(|_| map.open(&namespace));
    let granted = holder.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        // Another ends before, and is not renewed.
        nodes: NodeIds::These(&[7, 8]),
        ttl: TTL,
    });
    let mut grants = granted.unwrap().grants;
    let sent = map.state().texts.clone();
    for _ in 0..2 {
        map.state().now += Duration::from_secs(TTL - 1);
        grants[0].end = holder.renew(&grants[..1], TTL).unwrap().ends[0].unwrap();
    }
    {
        let mut state = map.state();
        state.meanwhile = Some((state.texts.clone(), state.now));
        (state.texts, state.now) = (sent, begin);
    }
    operator.administration().drop_namespace().unwrap();
    assert!(holder.renew(&grants[..1], TTL).unwrap().ends[0].is_err());
    operator.administration().reopen_namespace().unwrap();
    let end = Duration::from_millis(Randflake::SPEC.unix_ms(grants[0].end));
    map.state().now = end.saturating_sub(Duration::from_millis(1));
    let refused = acquire(&mut operator, TTL).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
    map.state().now = end;
    acquire(&mut operator, TTL).unwrap();
}

#[test]
fn dropped_namespace_registers_no_device() {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&Namespace::new("meters", Randflake).unwrap());
    let register = DeviceRequest::Register {
        owner: Some("a"),
        reported: Some(0),
    };
    store.administration().create_namespace().unwrap();
    store.administration().drop_namespace().unwrap();
    for asked in [&register, &DeviceRequest::Look] {
        let refused = store.devices().request(7, asked).unwrap_err();
        assert!(
            matches!(refused, DeviceError::Store(StoreError::Dropped { .. })),
            "{refused:?}"
        );
    }
    assert!(!map.state().texts.contains_key(&Key::Device(7)));
    store.administration().reopen_namespace().unwrap();
    store.devices().request(7, &register).unwrap();
    // A look writes nothing.
    let registered = map.state().texts.clone();
    store.devices().request(7, &DeviceRequest::Look).unwrap();
    assert_eq!(map.state().texts, registered);
}
