//! Which namespaces there are, and the end of one.

use core::time::Duration;

use crate::rules::{KeyCheck, Loss};
use crate::store::LeaseStore;
use crate::types::{Namespace, QuarantineCause, StoreError};
use randflake_core::{Layout, Randflake};

use super::{Backend, Eight, TTL, acquire, acquire_one, eight};

/// What is looked for is not made by that.
pub fn namespaces_are_found_as_they_were_made(backend: &impl Backend) {
    for _ in 0..2 {
        assert_eq!((backend.names(), backend.find("orders")), (vec![], None));
    }
    let shortest = eight("orders").with_max_ttl(Duration::from_secs(100));
    let mut store = backend.open(&shortest).unwrap();
    store.set_key_check(KeyCheck::Plain);
    // A store that cannot tell whether it was lost waits until somebody says so.
    store.administration().end_quarantine().unwrap();
    acquire_one(&mut store, 1);
    drop(store);

    let found = backend.find("orders").unwrap();
    assert_eq!(found.spec().fields(), Eight::SPEC.fields());
    assert_eq!(found.max_ttl(), Duration::from_secs(100));
    assert_eq!(found.key_check(), Some(KeyCheck::Plain));
    // It is opened as it was found.
    let mut store = backend.open(&found).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(
        (backend.names(), backend.find("users")),
        (vec!["orders".to_owned()], None)
    );
}

pub fn several_namespaces_are_told_apart(backend: &impl Backend) {
    // Names of which one begins as another one, or sorts between another one and its keys.
    let names = ["a", "a-b", "a0", "a_", "b"];
    for name in names {
        let mut store = backend.open(&eight(name)).unwrap();
        acquire_one(&mut store, 1);
    }
    assert_eq!(backend.names(), names);
    let mut store = backend.open(&eight("a")).unwrap();
    store.administration().drop_namespace().unwrap();
    assert_eq!(backend.names(), names[1..]);
    for name in &names[1..] {
        let mut store = backend.open(&eight(name)).unwrap();
        assert_eq!(store.list().unwrap().len(), 1, "{name}");
        // It grants still.
        acquire_one(&mut store, 2);
    }
}

pub fn a_dropped_namespace_is_opened_again_by_a_person_alone(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    store.set_key_check(KeyCheck::Key(1));
    let not_dropped = store.administration().reopen_namespace();
    let is_refused = matches!(not_dropped, Err(StoreError::Invalid(_)));
    assert!(is_refused, "{not_dropped:?}");
    let grant = acquire_one(&mut store, 1);
    store.administration().drop_namespace().unwrap();
    assert_eq!((backend.names(), backend.find("orders")), (vec![], None));
    assert_eq!(store.list().unwrap(), []);
    // Once more does nothing.
    store.administration().drop_namespace().unwrap();
    // Its holder hears of it, and does not make it anew.
    let renewed = store.renew(&[grant], TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Released)]);
    store.release(&[grant]).unwrap();
    is_refused_as_dropped(&mut store, grant.end);
    drop(store);

    // Another layout, another secret, another longest TTL: nobody opens it by leasing.
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let namespace = namespace.with_max_ttl(Duration::from_secs(70));
    let mut store = backend.open(&namespace).unwrap();
    assert_eq!(store.list().unwrap(), []);
    store.set_key_check(KeyCheck::Key(2));
    is_refused_as_dropped(&mut store, grant.end);
    assert_eq!(backend.names(), Vec::<String>::new());

    let old_end = Duration::from_millis(Eight::SPEC.unix_ms(grant.end));
    let quarantine = store.administration().reopen_namespace().unwrap().unwrap();
    assert_eq!(quarantine.cause, QuarantineCause::Dropped);
    assert!(quarantine.until >= old_end, "{quarantine:?}");
    assert_eq!(
        store.administration().current_quarantine().unwrap(),
        Some(quarantine)
    );
    assert_eq!(backend.names(), ["orders"]);
    // It is not new, and not dropped any more.
    let refused = store.administration().end_quarantine();
    assert!(matches!(refused, Err(StoreError::NotNew(_))), "{refused:?}");
    let refused = store.administration().reopen_namespace();
    assert!(
        matches!(refused, Err(StoreError::Invalid(_))),
        "{refused:?}"
    );
    let acquired = match acquire(&mut store, 2, 1) {
        Err(StoreError::Quarantined {
            retry_in,
            quarantine: seen,
        }) => {
            assert_eq!(seen, quarantine);
            assert_eq!(quarantine.until, store.now().unwrap() + retry_in);
            backend.pass(retry_in);
            acquire(&mut store, 3, 1).unwrap()
        }
        outcome => outcome.unwrap(),
    };
    let start = Duration::from_millis(Randflake::SPEC.unix_ms(acquired.grants[0].start));
    assert!(start >= old_end, "{start:?} {old_end:?}");
    assert_eq!(
        backend.find("orders").unwrap().spec().fields(),
        Randflake::SPEC.fields()
    );

    // Long after it was dropped, nothing is waited for.
    store.administration().drop_namespace().unwrap();
    backend.pass(Duration::from_secs(3_600));
    assert_eq!(store.administration().reopen_namespace().unwrap(), None);
    acquire_one(&mut store, 4);
}

/// Idle sessions of servers, services whose leases the drop has ended: what they know of the namespace before is over. Each
/// of them would close it again for the longest TTL, at whatever time it wakes.
pub fn who_wakes_after_a_drop_closes_nothing(backend: &impl Backend) {
    let open = || {
        let mut store = backend.open(&eight("orders")).unwrap();
        let grant = acquire_one(&mut store, 1);
        store.release(&[grant]).unwrap();
        store
    };
    let (mut awake, mut asleep, mut server, mut last) = (open(), open(), open(), open());
    server.act_as_proxy();
    backend.pass(Duration::from_secs(600));
    awake.administration().drop_namespace().unwrap();
    backend.pass(Duration::from_secs(600));
    is_refused_as_dropped(&mut awake, 0);
    assert_eq!(awake.administration().reopen_namespace().unwrap(), None);
    for store in [&mut awake, &mut asleep, &mut server] {
        acquire_one(store, 2);
        assert_eq!(store.administration().current_quarantine().unwrap(), None);
    }
    // Nor after a quarantine for another reason, once it is over.
    let left = awake.administration().start_quarantine().unwrap();
    backend.pass(left);
    acquire_one(&mut last, 3);
    assert_eq!(last.administration().current_quarantine().unwrap(), None);
}

fn is_refused_as_dropped(store: &mut LeaseStore, end: u64) {
    let old_end = Duration::from_millis(Eight::SPEC.unix_ms(end));
    for refused in [
        acquire(store, 2, 1).map(drop),
        store.administration().create_namespace().map(drop),
        store.administration().start_quarantine().map(drop),
        store.administration().end_quarantine(),
        store.administration().override_quarantine(),
    ] {
        let is_dropped = matches!(refused, Err(StoreError::Dropped { until }) if until >= old_end);
        assert!(is_dropped, "{refused:?}");
    }
}
