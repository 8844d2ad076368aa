//! Operations of every kind of store: deferred, with a claimed key, and refused by a diagnosis.

use core::error::Error;
use std::collections::BTreeSet;

use randflake_core::Randflake;
use randflake_lease::unstable::engine::Profile;
use randflake_lease::unstable::rules::{Key, KeyCheck, Loss};
use randflake_lease::{
    AcquireRequest, ClientGrant, DeviceRequest, Grant, LastWrite, LeaseStore, MemoryStore,
    Namespace, NodeIds, RequestId, StoreError, Token, Verdict, deferred,
};

use super::world::{Map, TTL, acquire_one, namespace};
use crate::watched::{Watcher, watched};

/// A lease that is held, and what its last write gave.
type Held = (Grant, LastWrite);
type Operation = fn(&mut LeaseStore, &Held) -> Result<(), Box<dyn Error>>;

/// By a name that says which. Each succeeds where one node id is leased, and a counter has begun.
const OPERATIONS: &[(&str, Operation)] = &[
    ("check", |store, _| Ok(store.check()?)),
    ("check_leases", |store, held| {
        assert!(store.check_leases(&[held.0], TTL)?.is_same());
        Ok(())
    }),
    ("acquire", |store, _| Ok(acquire(store, 1).map(drop)?)),
    ("renew", |store, held| {
        assert!(store.renew(&[held.0], TTL)?.ends[0].is_ok());
        Ok(())
    }),
    ("release", |store, held| Ok(store.release(&[held.0])?)),
    ("renew_for_client", |store, held| {
        let renewed = store.renew_for_client(&[presented(held)], TTL, &request())?;
        assert!(renewed.outcomes[0].is_ok());
        Ok(())
    }),
    ("release_for_client", |store, held| {
        let released = store.release_for_client(&[presented(held)], &request())?;
        assert_eq!(released, [Ok(())]);
        Ok(())
    }),
    ("list", |store, _| {
        assert_eq!(store.list()?.len(), 1);
        Ok(())
    }),
    ("history", |store, held| {
        let history = store.history().read(held.0.node_id..=held.0.node_id)?;
        assert_eq!(history.leases().count(), 1);
        Ok(())
    }),
    ("history of all", |store, _| {
        assert_eq!(store.history().read(0..=u32::MAX)?.leases().count(), 1);
        Ok(())
    }),
    ("explain", |store, held| {
        Ok(store
            .history()
            .explain(held.0.node_id, held.0.start)
            .map(drop)?)
    }),
    ("now", |store, _| Ok(store.now().map(drop)?)),
    ("counter", |store, _| {
        Ok(store.counter().status().map(drop)?)
    }),
    ("reserve", |store, _| {
        Ok(store.counter().reserve(1).map(drop)?)
    }),
    ("counter create", |store, _| Ok(store.counter().create()?)),
    ("counter resume", |store, _| {
        Ok(store.counter().resume(1).map(drop)?)
    }),
    ("device", |store, _| {
        let register = DeviceRequest::Register {
            owner: Some("a"),
            reported: Some(0),
        };
        Ok(store.devices().request(7, &register).map(drop)?)
    }),
    ("create_namespace", |store, _| {
        Ok(store.administration().create_namespace().map(drop)?)
    }),
    ("start_quarantine", |store, _| {
        Ok(store.administration().start_quarantine().map(drop)?)
    }),
    ("end_quarantine", |store, _| {
        Ok(store.administration().end_quarantine()?)
    }),
    ("override_quarantine", |store, _| {
        Ok(store.administration().override_quarantine()?)
    }),
    ("current_quarantine", |store, _| {
        Ok(store.administration().current_quarantine().map(drop)?)
    }),
    ("drop_namespace", |store, _| {
        Ok(store.administration().drop_namespace()?)
    }),
    ("drop and reopen", |store, _| {
        store.administration().drop_namespace()?;
        Ok(store.administration().reopen_namespace().map(drop)?)
    }),
    ("diagnose", |store, _| {
        // The engine's, and the store's own.
        assert_eq!(store.administration().diagnose()?.len(), 2);
        Ok(())
    }),
    ("upgrade_namespace", |store, _| {
        Ok(store.administration().upgrade_namespace(false).map(drop)?)
    }),
    ("version", |store, _| {
        Ok(store.administration().version().map(drop)?)
    }),
    ("namespaces", |store, _| {
        assert_eq!(store.catalog().names()?.unwrap().names, ["orders"]);
        Ok(())
    }),
    ("find", |store, _| {
        assert!(store.catalog().find("orders")?.is_some());
        Ok(())
    }),
];

fn acquire(store: &mut LeaseStore, count: u32) -> Result<Held, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: TTL,
    })?;
    Ok((acquired.grants[0], acquired.last_writes[0]))
}

fn presented((grant, last_write): &Held) -> ClientGrant {
    ClientGrant {
        grant: *grant,
        last_write: *last_write,
    }
}

fn request() -> RequestId {
    "request-1".parse().unwrap()
}

/// With one lease and a counter.
fn held_map() -> (Map, Held) {
    let map = Map::new();
    let mut store = map.open(&namespace());
    let held = acquire(&mut store, 1).unwrap();
    store.counter().create().unwrap();
    (map, held)
}

#[test]
fn each_operation_opens_a_deferred_store() {
    for (name, operation) in OPERATIONS {
        let (map, held) = held_map();
        let opens = {
            let map = map.clone();
            move |namespace: &Namespace| Ok::<_, StoreError>(map.open(namespace))
        };
        let outcome = operation(&mut deferred(&namespace(), opens), &held);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
    }
}

#[test]
fn an_acquire_keeps_to_what_a_deferred_store_can() {
    #[derive(Debug)]
    struct OneByOne;
    impl Watcher for OneByOne {
        fn profile(&self, profile: Profile) -> Profile {
            Profile {
                max_batch: 1,
                ..profile
            }
        }
    }
    let refused = acquire(
        &mut deferred(&namespace(), |namespace: &Namespace| {
            let store = MemoryStore::with_system_clock(namespace.clone());
            Ok::<_, StoreError>(watched(store, OneByOne))
        }),
        2,
    )
    .unwrap_err();
    assert!(refused.to_string().contains("at most 1"), "{refused}");
}

#[test]
fn no_operation_leaves_a_lock() {
    for (name, operation) in OPERATIONS {
        let (map, held) = held_map();
        operation(&mut map.open(&namespace()), &held).unwrap();
        assert!(!map.state().is_locked, "{name}");
        // Whichever read fails.
        let mut failed = BTreeSet::new();
        for reads in 0..8 {
            let (map, held) = held_map();
            map.state().reads_left = Some(reads);
            if operation(&mut map.open(&namespace()), &held).is_err() {
                failed.insert(reads);
            }
            assert!(!map.state().is_locked, "{name} after {reads} reads");
        }
        let first: BTreeSet<_> = (0..failed.len()).collect();
        assert_eq!(failed, first, "{name}");
    }
}

fn open_deferred(map: &Map) -> LeaseStore {
    let map = map.clone();
    deferred(&namespace(), move |namespace| {
        Ok::<_, StoreError>(map.open(namespace))
    })
}

#[test]
fn a_key_that_was_named_before_is_claimed() {
    let map = Map::new();
    let mut store = open_deferred(&map);
    store.set_key_check(KeyCheck::Key(7));
    acquire_one(&mut store).unwrap();
    assert!(map.state().texts.contains_key(&Key::Claim(7)));
}

#[test]
fn node_ids_that_were_set_before_are_kept_to() {
    let mut store = open_deferred(&Map::new());
    store.lease_within(3..=3);
    assert_eq!(acquire_one(&mut store).unwrap().node_id, 3);
    let refused = acquire_one(&mut store).unwrap_err();
    assert!(
        matches!(refused, StoreError::Exhausted { .. }),
        "{refused:?}"
    );
}

/// What a client of a server says to have had closes nothing; what a holder had does.
#[test]
fn a_server_stays_one() {
    for is_proxy in [true, false] {
        let map = Map::new();
        let mut store = open_deferred(&map);
        if is_proxy {
            store.act_as_proxy();
        }
        let grant = acquire_one(&mut store).unwrap();
        map.state().texts.remove(&Key::Node(grant.node_id));
        let renewed = store.renew(&[grant], TTL).unwrap();
        assert_eq!(renewed.ends, [Err(Loss::Forgotten)]);
        let quarantined = store.administration().current_quarantine().unwrap();
        assert_eq!(quarantined.is_none(), is_proxy, "{quarantined:?}");
    }
}

/// The clock of a file is this machine's own.
#[test]
fn a_clock_that_is_another_machine_s_is_compared() {
    for has_own_clock in [false, true] {
        let map = Map::new();
        map.state().has_own_clock = has_own_clock;
        let mut store = LeaseStore::opened(map.clone(), namespace()).unwrap();
        assert_eq!(store.is_on_server(), has_own_clock);
        let outcome = acquire_one(&mut store);
        let is_skewed = matches!(outcome, Err(StoreError::ClockSkew { .. }));
        assert_eq!(is_skewed, has_own_clock, "{outcome:?}");
        assert!(!map.state().is_locked);
    }
}

fn open_with_key(map: &Map, namespace: &Namespace) -> LeaseStore {
    let mut store = map.open(namespace);
    store.set_key_check(KeyCheck::Key(7));
    store
}

fn named(name: &str) -> Namespace {
    Namespace::new(name, Randflake).unwrap()
}

#[test]
fn secret_is_claimed_once() {
    let map = Map::new();
    let mut store = open_with_key(&map, &named("orders"));
    store.check().unwrap();
    assert_eq!(map.state().claims_asked, 0);
    let grant = acquire_one(&mut store).unwrap();
    assert_eq!(map.state().claims_asked, 1);
    store.renew(&[grant], TTL).unwrap();
    store.release(&[grant]).unwrap();
    let mut another = open_with_key(&map, &named("orders"));
    another.check().unwrap();
    acquire_one(&mut another).unwrap();
    another.administration().start_quarantine().unwrap();
    assert_eq!(map.state().claims_asked, 1);
}

#[test]
fn crash_after_a_claim_leaves_a_usable_namespace() {
    let map = Map::new();
    map.state().fails_to_write = true;
    acquire_one(&mut open_with_key(&map, &named("orders"))).unwrap_err();
    assert!(map.state().has_claims_alone());
    map.state().fails_to_write = false;

    // It is the namespace's that was about to be made, and of any other for which that is meant.
    let other = &map.other_namespace();
    let refused = acquire_one(&mut open_with_key(other, &named("users"))).unwrap_err();
    assert!(
        matches!(refused, StoreError::SecretTaken { .. }),
        "{refused:?}"
    );
    assert!(other.state().has_claims_alone());
    acquire_one(&mut open_with_key(
        other,
        &named("users").with_shared_secret(),
    ))
    .unwrap();
    acquire_one(&mut open_with_key(&map, &named("orders"))).unwrap();
}

#[test]
fn unreadable_claim_is_refused() {
    let map = Map::new();
    let rotten = "rotten".to_owned();
    map.state().texts.insert(Key::Claim(7), rotten);
    let refused = acquire_one(&mut open_with_key(&map, &named("orders"))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the map: the claim of the secret of check value 00000007: it is another program's"
    );
    assert!(map.state().has_claims_alone());
}

#[test]
fn a_setting_that_loses_leases_hides_no_finding() {
    let map = Map::new();
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    store.administration().create_namespace().unwrap();
    map.state().fault = Some("it runs with fsync=off".to_owned());
    let refused = store.administration().create_namespace();
    assert!(
        matches!(refused, Err(StoreError::FailedPrecondition(_))),
        "{refused:?}"
    );
    let findings = store.administration().diagnose().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["setting", "quarantine"]);
    for finding in findings {
        let is_told = matches!(&finding.verdict, Verdict::Wrong(why) if why.contains("fsync=off"));
        assert!(is_told, "{finding:?}");
    }
}
