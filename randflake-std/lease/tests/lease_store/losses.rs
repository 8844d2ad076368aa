//! Stores that forgot leases, interrupted drops, and quarantines in any tick.

use core::time::Duration;

use randflake_core::{Layout, LayoutFields, LayoutSpec, Randflake, Snowflake};
use randflake_lease::unstable::rules::{Key, Loss};
use randflake_lease::{
    AcquireRequest, ClientGrant, DeviceError, DeviceRequest, Grant, LeaseStore, MAX_SKEW,
    Namespace, NodeIds, QuarantineCause, StoreError, Token,
};

use super::world::{Map, TTL, acquire_one};

fn open(map: &Map) -> LeaseStore {
    map.open(&Namespace::new("orders", Randflake).unwrap())
}

/// A store without anything, and a lease that is in use.
fn forgotten() -> (Map, LeaseStore, Grant) {
    let map = Map::new();
    let mut store = open(&map);
    let grant = acquire_one(&mut store).unwrap();
    map.state().texts.clear();
    "after a restart".clone_into(&mut map.state().fingerprint);
    (map, store, grant)
}

fn cause(map: &Map) -> Option<QuarantineCause> {
    let quarantine = open(map).administration().current_quarantine().unwrap();
    quarantine.map(|quarantine| quarantine.cause)
}

/// By a process that knows nothing of it, on an engine that cannot tell.
fn make_anew(map: &Map) {
    open(map).administration().create_namespace().unwrap();
    let mut another = open(map);
    another.administration().start_quarantine().unwrap();
    for text in map.state().texts.values_mut() {
        *text = text.replace("-a:", "-n:");
    }
    assert_eq!(cause(map), Some(QuarantineCause::New));
}

/// Else `randflake lease init` would declare it new, and grant the node ids that are in use.
#[test]
fn a_namespace_that_its_holder_misses_is_not_new() {
    let (map, mut store, grant) = forgotten();
    let renewed = store.renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
    assert_eq!(cause(&map), Some(QuarantineCause::Lost));
}

#[test]
fn nor_is_one_that_another_process_has_made_anew() {
    let (map, mut store, grant) = forgotten();
    make_anew(&map);
    let renewed = store.renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
    assert_eq!(cause(&map), Some(QuarantineCause::Lost));
}

/// What was granted since the backup is forgotten, however long ago that one was made.
#[test]
fn a_namespace_of_an_older_backup_is_a_loss() {
    let map = Map::new();
    open(&map).administration().create_namespace().unwrap();
    open(&map).administration().start_quarantine().unwrap();
    let backup = map.state().texts.clone();
    map.state().now += Duration::from_secs(3_600);
    open(&map).administration().drop_namespace().unwrap();
    map.state().now += Duration::from_secs(3_600);
    let mut store = open(&map);
    store.administration().reopen_namespace().unwrap();
    let grant = acquire_one(&mut store).unwrap();
    store.release(&[grant]).unwrap();
    map.state().now += Duration::from_secs(3_600);
    map.state().texts = backup;
    let asked = AcquireRequest {
        token: Token::from_bytes([2; 16]),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    };
    let refused = store.acquire(&asked).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
    assert_eq!(cause(&map), Some(QuarantineCause::Lost));
}

/// As `randflake lease renew` does, whose process has seen nothing.
#[test]
fn a_lease_from_elsewhere_tells_it_too() {
    let (map, _, grant) = forgotten();
    make_anew(&map);
    let renewed = open(&map).renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
    assert_eq!(cause(&map), Some(QuarantineCause::Lost));
}

/// With leases in it, and in a layout of other ticks: the quarantine is until the lost lease ends,
/// by that layout.
#[test]
fn a_namespace_of_other_terms_is_no_outage() {
    let (map, mut store, grant) = forgotten();
    let other = Namespace::new("orders", Snowflake).unwrap();
    let mut anew = map.open(&other);
    anew.administration().create_namespace().unwrap();
    anew.administration().override_quarantine().unwrap();
    let end = Duration::from_millis(Randflake::SPEC.unix_ms(grant.end));
    let before = map.state().texts.clone();
    let renewed = store.renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
    let quarantine = anew.administration().current_quarantine().unwrap().unwrap();
    assert_eq!(
        (quarantine.cause, quarantine.until),
        (QuarantineCause::Lost, end)
    );
    // Once more changes nothing: it was noticed.
    let after = map.state().texts.clone();
    assert_ne!(before, after);
    let refused = store.renew(&[grant], TTL);
    assert!(
        matches!(refused, Err(StoreError::Terms { .. })),
        "{refused:?}"
    );
    assert_eq!(map.state().texts, after);
}

/// A record that cannot be read, and one of a newer version, may be this holder's.
#[test]
fn what_cannot_be_read_is_an_outage() {
    let map = Map::new();
    let mut store = open(&map);
    let grant = acquire_one(&mut store).unwrap();
    let kept = map.state().texts[&Key::Namespace].clone();
    for damaged in ["99:x", "11:mine", "mine"] {
        map.state().texts.insert(Key::Namespace, damaged.to_owned());
        let refused = store.renew(&[grant], TTL);
        assert!(
            matches!(refused, Err(StoreError::FailedPrecondition(_))),
            "{refused:?}"
        );
        assert_eq!(map.state().texts[&Key::Namespace], damaged);
    }
    map.state().texts.insert(Key::Namespace, kept);
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
}

/// A server that has renewed it for a client knows that there was one.
#[test]
fn nor_is_one_whose_lease_a_server_has_renewed() {
    let map = Map::new();
    let asked = AcquireRequest {
        token: Token::from_bytes([1; 16]),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    };
    let acquired = open(&map).acquire(&asked).unwrap();
    let mut server = open(&map);
    server.act_as_proxy();
    let held = ClientGrant {
        grant: acquired.grants[0],
        last_write: acquired.last_writes[0],
    };
    let renewed = server.renew_for_client(&[held], TTL, &"request-1".parse().unwrap());
    assert!(renewed.unwrap().outcomes[0].is_ok());
    map.state().texts.clear();
    "after a restart".clone_into(&mut map.state().fingerprint);
    server.administration().create_namespace().unwrap();
    assert_eq!(cause(&map), Some(QuarantineCause::Lost));
}

/// A client could close a namespace by a lease that never was.
#[test]
fn a_lease_that_others_present_closes_nothing() {
    let (map, _, grant) = forgotten();
    let mut server = open(&map);
    server.act_as_proxy();
    server.administration().create_namespace().unwrap();
    server.administration().override_quarantine().unwrap();
    map.state().texts.clear();
    let mut anew = open(&map);
    anew.administration().create_namespace().unwrap();
    anew.administration().override_quarantine().unwrap();
    let before = map.state().texts.clone();
    let renewed = server.renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
    assert_eq!(map.state().texts, before);
}

/// Longer than any lease and quarantine.
const LONG: Duration = Duration::from_secs(1_000);

fn acquire_seven(store: &mut LeaseStore, ttl: u64) -> Result<u64, StoreError> {
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
    let map = Map::new();
    let mut store = map.open(&Namespace::new("orders", Snowflake).unwrap());
    acquire_seven(&mut store, TTL * 1_000).unwrap();
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
    let refused = acquire_seven(&mut store, TTL).unwrap_err();
    assert!(matches!(refused, StoreError::Dropped { .. }), "{refused:?}");
    assert!(map.state().texts.contains_key(&Key::Node(7)));
    assert!(store.administration().reopen_namespace().unwrap().is_some());
    assert!(!map.state().texts.contains_key(&Key::Node(7)));
    let refused = acquire_seven(&mut store, TTL).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
    map.state().now += LONG;
    let end = acquire_seven(&mut store, TTL).unwrap();
    let now = Randflake::SPEC.tick_at(map.state().now).unwrap();
    assert_eq!(end, now + TTL);
}

/// One of its leases was granted far ahead, by a wrong clock.
#[test]
fn reopened_namespace_waits_for_its_last_lease() {
    let map = Map::new();
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
    let map = Map::new();
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    acquire_seven(&mut store, TTL).unwrap();
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

/// A client that had a lease before the drop, or has seen the mark, acquires as anybody does once
/// the quarantine is over: however soon after the drop the namespace was opened again.
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
        acquire_seven(&mut holder, TTL).unwrap();
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
    let refused = acquire_seven(&mut operator, TTL).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused:?}"
    );
    map.state().now = end;
    acquire_seven(&mut operator, TTL).unwrap();
}

#[test]
fn dropped_namespace_registers_no_device() {
    let map = Map::new();
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

/// Positions within a tick at which a quarantine begins.
const POSITIONS: u64 = 64;

fn acquire_for_longest(map: &Map, namespace: &Namespace) -> Result<Grant, StoreError> {
    let acquired = map.open(namespace).acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::These(&[1]),
        ttl: namespace.ticks(namespace.max_ttl()),
    })?;
    Ok(acquired.grants[0])
}

/// The clock that grants is ahead by as much as is allowed of the one that sets the quarantine.
/// Rounded up together, the TTL and the skew are up to a tick shorter than each alone.
#[test]
fn a_quarantine_outlasts_every_lease_in_any_tick() {
    for (tick_ms, longest) in [(64_000, 40), (8_000, 60), (1_000, 60), (256, 60)] {
        let layout = LayoutSpec::new(LayoutFields::in_order(
            [30, 3, 17],
            1_700_000_000_000,
            tick_ms,
        ))
        .unwrap();
        let longest = Duration::from_secs(longest);
        let namespace = Namespace::new("orders", layout)
            .unwrap()
            .with_max_ttl(longest);
        for position in 0..POSITIONS {
            let begun = Duration::from_millis(1_800_000_000_000 + position * tick_ms / POSITIONS);
            let map = Map::default();
            map.state().now = begun + 2 * MAX_SKEW;
            let forgotten = acquire_for_longest(&map, &namespace).unwrap();
            {
                let mut state = map.state();
                state.texts.retain(|key, _| *key == Key::Namespace);
                "after a restart".clone_into(&mut state.fingerprint);
                state.now = begun;
            }
            let refused = acquire_for_longest(&map, &namespace);
            let Err(StoreError::Quarantined { quarantine, .. }) = refused else {
                panic!("{refused:?}");
            };
            map.state().now = quarantine.until;
            let next = acquire_for_longest(&map, &namespace).unwrap();
            assert!(
                next.start >= forgotten.end,
                "ticks of {tick_ms} ms, position {position}: {next:?} after {forgotten:?}"
            );
        }
    }
}
