//! One secret for two namespaces.

use std::sync::Barrier;
use std::thread;

use crate::rules::KeyCheck;
use crate::store::LeaseStore;
use crate::types::{Namespace, StoreError};

use super::{Backend, acquire, acquire_one, eight, patiently};

fn open(backend: &impl Backend, namespace: &Namespace, key_check: KeyCheck) -> LeaseStore {
    let mut store = patiently(|| backend.open(namespace)).unwrap();
    store.set_key_check(key_check);
    store
}

#[track_caller]
fn is_taken(store: &mut LeaseStore, by: &str) {
    let own = store.namespace().name().to_owned();
    let refused = patiently(|| acquire(store, 9, 1)).unwrap_err();
    let StoreError::SecretTaken {
        namespace,
        asked,
        database: None,
    } = &refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!((&**namespace, &**asked), (by, &*own));
    let said = refused.to_string();
    for part in [
        &*format!("keygen --derive {own}"),
        "Secret::derive",
        "--shared-secret",
        "with_shared_secret",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

pub fn a_secret_is_of_one_namespace(backend: &impl Backend) {
    let mut orders = open(backend, &eight("orders"), KeyCheck::Key(1));
    acquire_one(&mut orders, 1);

    let mut users = open(backend, &eight("users"), KeyCheck::Key(1));
    is_taken(&mut users, "orders");
    assert_eq!(users.list().unwrap(), []);
    acquire_one(&mut orders, 2);
    // Another secret, and none.
    let mut users = open(backend, &eight("users"), KeyCheck::Key(2));
    acquire_one(&mut users, 1);
    for name in ["plain", "bits"] {
        acquire_one(&mut open(backend, &eight(name), KeyCheck::Plain), 1);
    }

    // Whoever has no key makes the namespace, and who brings one is refused all the same.
    let mut keyless = backend.open(&eight("devices")).unwrap();
    acquire_one(&mut keyless, 1);
    is_taken(
        &mut open(backend, &eight("devices"), KeyCheck::Key(2)),
        "users",
    );
    acquire_one(&mut open(backend, &eight("devices"), KeyCheck::Key(3)), 2);
    is_taken(
        &mut open(backend, &eight("more"), KeyCheck::Key(3)),
        "devices",
    );

    // A drop keeps it.
    orders.administration().drop_namespace().unwrap();
    is_taken(
        &mut open(backend, &eight("more"), KeyCheck::Key(1)),
        "orders",
    );

    // It is meant.
    let more = eight("more").with_shared_secret();
    acquire_one(&mut open(backend, &more, KeyCheck::Key(1)), 1);
    // Its record has the secret now.
    acquire_one(&mut open(backend, &eight("more"), KeyCheck::Key(1)), 2);
}

pub fn of_two_that_race_one_gets_the_secret(backend: &impl Backend) {
    for round in 0..8 {
        let names = ["a", "b"].map(|name| format!("{name}-{round}"));
        let stores = names.map(|name| open(backend, &eight(&name), KeyCheck::Key(round)));
        let barrier = Barrier::new(stores.len());
        let barrier = &barrier;
        let granted = thread::scope(|scope| {
            let race = |mut store: LeaseStore| {
                scope.spawn(move || {
                    barrier.wait();
                    match patiently(|| acquire(&mut store, 1, 1)) {
                        Ok(_) => true,
                        Err(StoreError::SecretTaken { .. }) => false,
                        Err(error) => panic!("{error:?}"),
                    }
                })
            };
            stores.map(race).map(|thread| thread.join().unwrap())
        });
        assert_ne!(granted[0], granted[1], "round {round}");
    }
}
