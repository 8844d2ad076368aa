//! Keys of a namespace: claims of secrets, and the change to the next key.

use std::sync::Barrier;
use std::thread;

use randflake_core::KeyNumber;

use super::{Backend, TTL, acquire, acquire_one, eight, patiently, record_of, ticks};
use crate::secret::Secret;
use crate::store::LeaseStore;
use crate::types::{DeviceError, DeviceRequest, Grant, KeyCheck, Namespace, StoreError};

fn number(number: u8) -> KeyNumber {
    KeyNumber::new(number).unwrap()
}

/// The secret of a number.
fn secret(number: u8) -> Secret {
    Secret::from_bytes([number; 16])
}

fn key(key: u8) -> KeyCheck {
    KeyCheck::tagged(number(key), &secret(key).cipher())
}

/// A client that issues under a number.
fn open(backend: &impl Backend, name: &str, number: u8) -> LeaseStore {
    let mut store = patiently(|| backend.open(&eight(name))).unwrap();
    store.set_key_check(key(number));
    store
}

fn next_key(store: &mut LeaseStore, next: u8) -> Result<(), StoreError> {
    patiently(|| store.administration().next_key(number(next), &secret(next)))
}

#[track_caller]
fn is_refused<T>(outcome: Result<T, StoreError>, stored: u8, asked: u8) {
    match outcome.map(drop).unwrap_err() {
        StoreError::KeyNumber {
            stored: is,
            asked: was,
        } => assert_eq!((is, was), (number(stored), number(asked))),
        error => panic!("{error:?}"),
    }
}

pub fn a_next_key_is_for_all_from_their_next_lease_on(backend: &impl Backend) {
    let mut old = open(backend, "orders", 1);
    let mut early = open(backend, "orders", 2);
    let mut grant = acquire_one(&mut old, 1);
    is_refused(patiently(|| acquire(&mut early, 2, 1)), 1, 2);
    // Twice, so that an engine that renews without a read has begun to.
    for _ in 0..2 {
        backend.pass(ticks(1));
        grant.end = patiently(|| old.renew(&[grant], TTL)).unwrap().ends[0].unwrap();
    }

    let mut person = backend.open(&eight("orders")).unwrap();
    next_key(&mut person, 2).unwrap();
    next_key(&mut person, 2).unwrap();
    backend.pass(ticks(1));
    // Also where it is renewed without a read: the record that this rests on has changed.
    for _ in 0..2 {
        is_refused(patiently(|| old.renew(&[grant], TTL)), 2, 1);
        is_refused(patiently(|| acquire(&mut old, 3, 1)), 2, 1);
    }
    // The lease goes on as it was: nobody else has its ticks.
    assert_eq!(record_of(&mut old, grant.node_id).grant, grant);
    let ours = acquire(&mut early, 4, 7).unwrap().grants;
    assert!(ours.iter().all(|other| other.node_id != grant.node_id));
    assert!(matches!(
        patiently(|| acquire(&mut early, 5, 1)),
        Err(StoreError::Exhausted { .. })
    ));
    // It may be given back, under the number it was granted for.
    let used = Grant {
        end: grant.start + 1,
        ..grant
    };
    patiently(|| old.release(&[used])).unwrap();
    assert_eq!(acquire_one(&mut early, 6).node_id, grant.node_id);
    assert!(patiently(|| early.renew(&ours, TTL)).unwrap().ends[0].is_ok());
}

pub fn only_the_key_of_tagged_uuids_changes(backend: &impl Backend) {
    let mut store = open(backend, "orders", 1);
    let grant = acquire_one(&mut store, 1);
    let mut person = backend.open(&eight("orders")).unwrap();
    is_refused(next_key(&mut person, 3), 1, 3);
    let again = person
        .administration()
        .next_key(number(2), &secret(1))
        .unwrap_err();
    assert!(matches!(again, StoreError::Invalid(_)), "{again:?}");
    let other = person
        .administration()
        .next_key(number(1), &secret(2))
        .unwrap_err();
    assert!(matches!(other, StoreError::Terms { .. }), "{other:?}");
    // The secret of another namespace, whose claim comes before the record.
    acquire_one(&mut open(backend, "users", 9), 1);
    let taken = person
        .administration()
        .next_key(number(2), &secret(9))
        .unwrap_err();
    assert!(
        matches!(&taken, StoreError::SecretTaken { namespace, .. } if namespace == "users"),
        "{taken:?}"
    );
    // None of that has changed anything.
    assert_eq!(
        patiently(|| store.renew(&[grant], TTL)).unwrap().ends,
        [Ok(grant.end)]
    );
    next_key(&mut person, 2).unwrap();
    is_refused(next_key(&mut person, 1), 2, 1);
    // The first secret stays this namespace's.
    let mut thief = backend.open(&eight("more")).unwrap();
    thief.set_key_check(KeyCheck::of(&secret(1).cipher()));
    let taken = patiently(|| acquire(&mut thief, 1, 1)).unwrap_err();
    assert!(
        matches!(&taken, StoreError::SecretTaken { namespace, .. } if namespace == "orders"),
        "{taken:?}"
    );

    // Where nobody has leased with a key, and of other ids.
    let mut plain = backend.open(&eight("plain")).unwrap();
    let early = next_key(&mut plain, 1).unwrap_err();
    assert!(matches!(early, StoreError::Invalid(_)), "{early:?}");
    plain.set_key_check(KeyCheck::Plain);
    acquire_one(&mut plain, 1);
    let refused = next_key(&mut plain, 3).unwrap_err();
    assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
    let mut dropped = backend.open(&eight("plain")).unwrap();
    dropped.administration().drop_namespace().unwrap();
    let refused = next_key(&mut dropped, 3).unwrap_err();
    assert!(matches!(refused, StoreError::Dropped { .. }), "{refused:?}");
}

pub fn who_has_no_key_leases_no_tagged_uuids(backend: &impl Backend) {
    let mut store = open(backend, "orders", 1);
    let grant = acquire_one(&mut store, 1);
    let mut keyless = backend.open(&eight("orders")).unwrap();
    for refused in [
        patiently(|| acquire(&mut keyless, 2, 1)).map(drop),
        patiently(|| keyless.renew(&[grant], TTL)).map(drop),
        keyless.devices().acquire(7, ticks(TTL)).map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
        let said = refused.to_string();
        assert!(said.contains("tagged UUIDs under key number 1"), "{said}");
        assert!(said.contains("opened with no key"), "{said}");
    }
    // Who has the key leases none for a device either.
    let refused = store.devices().acquire(7, ticks(TTL)).unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused:?}");
    let refused = store
        .devices()
        .request(7, &DeviceRequest::New { owner: "" });
    let Err(DeviceError::Store(refused)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        refused.to_string().contains("use another namespace"),
        "{refused}"
    );
    // To look and to administer takes no key.
    let looked = keyless.devices().request(7, &DeviceRequest::Look);
    assert!(
        matches!(looked, Err(DeviceError::Unknown { .. })),
        "{looked:?}"
    );
    assert_eq!(keyless.list().unwrap().len(), 1);
    keyless.administration().create_namespace().unwrap();
    patiently(|| keyless.release(&[grant])).unwrap();
}

/// Two people with two secrets for one number, and two with the same.
pub fn of_two_next_keys_that_race_one_is_taken(backend: &impl Backend) {
    let name = "orders";
    acquire_one(&mut open(backend, name, 1), 1);
    for next in 2..=5 {
        let stores = [0, 100].map(|add| {
            // In even rounds both bring the same secret.
            let add = if next % 2 == 0 { 0 } else { add };
            (open(backend, name, next), secret(next + add))
        });
        let barrier = &Barrier::new(stores.len());
        let outcomes = thread::scope(|scope| {
            stores
                .map(|(mut store, secret): (LeaseStore, Secret)| {
                    scope.spawn(move || {
                        barrier.wait();
                        patiently(|| store.administration().next_key(number(next), &secret))
                    })
                })
                .map(|thread| thread.join().unwrap())
        });
        let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(taken, 2 - usize::from(next % 2), "{outcomes:?}");
        for refused in outcomes.into_iter().filter_map(Result::err) {
            assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
        }
    }
}

fn open_under(backend: &impl Backend, namespace: &Namespace, key_check: KeyCheck) -> LeaseStore {
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
    let mut orders = open_under(backend, &eight("orders"), KeyCheck::Key(1));
    acquire_one(&mut orders, 1);

    let mut users = open_under(backend, &eight("users"), KeyCheck::Key(1));
    is_taken(&mut users, "orders");
    assert_eq!(users.list().unwrap(), []);
    acquire_one(&mut orders, 2);
    // Another secret, and none.
    let mut users = open_under(backend, &eight("users"), KeyCheck::Key(2));
    acquire_one(&mut users, 1);
    for name in ["plain", "bits"] {
        acquire_one(&mut open_under(backend, &eight(name), KeyCheck::Plain), 1);
    }

    // A client without a key makes the namespace, and one with a key is refused all the same.
    let mut keyless = backend.open(&eight("devices")).unwrap();
    acquire_one(&mut keyless, 1);
    is_taken(
        &mut open_under(backend, &eight("devices"), KeyCheck::Key(2)),
        "users",
    );
    acquire_one(
        &mut open_under(backend, &eight("devices"), KeyCheck::Key(3)),
        2,
    );
    is_taken(
        &mut open_under(backend, &eight("more"), KeyCheck::Key(3)),
        "devices",
    );

    // A drop keeps it.
    orders.administration().drop_namespace().unwrap();
    is_taken(
        &mut open_under(backend, &eight("more"), KeyCheck::Key(1)),
        "orders",
    );

    // It is meant.
    let more = eight("more").with_shared_secret();
    acquire_one(&mut open_under(backend, &more, KeyCheck::Key(1)), 1);
    // Its record has the secret now.
    acquire_one(
        &mut open_under(backend, &eight("more"), KeyCheck::Key(1)),
        2,
    );
}

pub fn of_two_that_race_one_gets_the_secret(backend: &impl Backend) {
    for round in 0..8 {
        let names = ["a", "b"].map(|name| format!("{name}-{round}"));
        let stores = names.map(|name| open_under(backend, &eight(&name), KeyCheck::Key(round)));
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
