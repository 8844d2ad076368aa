//! What a holder knows that its store has forgotten: the namespace is not new.

use core::time::Duration;

use randflake_std::lease::{
    AcquireRequest, ClientGrant, Grant, LeaseStore, Namespace, NodeIds, QuarantineCause,
    StoreError, Token,
};
use randflake_std::unstable::rules::{Key, Loss};
use randflake_std::{Layout, Randflake, Snowflake};

use super::engine::Map;

const TTL: u64 = 60;

fn open(map: &Map) -> LeaseStore {
    map.open(&Namespace::new("orders", Randflake).unwrap())
}

fn acquire(store: &mut LeaseStore) -> Grant {
    let asked = AcquireRequest {
        token: Token::from_bytes([1; 16]),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    };
    store.acquire(&asked).unwrap().grants.remove(0)
}

/// A store without anything, and a lease that is in use.
fn forgotten() -> (Map, LeaseStore, Grant) {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = open(&map);
    let grant = acquire(&mut store);
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
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    open(&map).administration().create_namespace().unwrap();
    open(&map).administration().start_quarantine().unwrap();
    let backup = map.state().texts.clone();
    map.state().now += Duration::from_secs(3_600);
    open(&map).administration().drop_namespace().unwrap();
    map.state().now += Duration::from_secs(3_600);
    let mut store = open(&map);
    store.administration().reopen_namespace().unwrap();
    let grant = acquire(&mut store);
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

/// With leases in it, and in a layout of other ticks: the quarantine is until the lost lease ends, by that layout.
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
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = open(&map);
    let grant = acquire(&mut store);
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
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
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
