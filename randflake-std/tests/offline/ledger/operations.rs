//! What holds for each operation of a store.

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeSet;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, ClientGrant, DeviceRequest, Grant, LastWrite, LeaseStore, MemoryStore,
    Namespace, NodeIds, RequestId, StoreError, Token, deferred,
};
use randflake_std::unstable::engine::Profile;

use super::engine::Map;
use crate::watched::{Watcher, watched};

const TTL: u64 = 60;

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
    ("create_counter", |store, _| Ok(store.counter().create()?)),
    ("resume_counter", |store, _| {
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
    ("quarantine", |store, _| {
        Ok(store.administration().start_quarantine().map(drop)?)
    }),
    ("end_quarantine", |store, _| {
        Ok(store.administration().end_quarantine()?)
    }),
    ("override_quarantine", |store, _| {
        Ok(store.administration().override_quarantine()?)
    }),
    ("quarantined", |store, _| {
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

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

/// With one lease and a counter.
fn map() -> (Map, Held) {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&namespace());
    let held = acquire(&mut store, 1).unwrap();
    store.counter().create().unwrap();
    (map, held)
}

#[test]
fn each_operation_opens_a_deferred_store() {
    for (name, operation) in OPERATIONS {
        let (map, held) = map();
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
    let opens = |namespace: &Namespace| {
        let store = MemoryStore::with_system_clock(namespace.clone());
        Ok::<_, StoreError>(watched(store, OneByOne))
    };
    let refused = acquire(&mut deferred(&namespace(), opens), 2).unwrap_err();
    assert!(refused.to_string().contains("at most 1"), "{refused}");
}

#[test]
fn no_operation_leaves_a_lock() {
    for (name, operation) in OPERATIONS {
        let (map, held) = map();
        operation(&mut map.open(&namespace()), &held).unwrap();
        assert!(!map.state().is_locked, "{name}");
        // Whichever read fails.
        let mut failed = BTreeSet::new();
        for reads in 0..8 {
            let (map, held) = self::map();
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
