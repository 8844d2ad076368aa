//! Forms of ids: a namespace has one.

use crate::secret::Secret;
use crate::store::LeaseStore;
use crate::types::{Grant, KeyCheck, Namespace, StoreError};
use randflake_core::{KeyNumber, Randflake53};

use super::{Backend, TTL, acquire, acquire_one, patiently};

fn open(backend: &impl Backend, name: &str, key_check: KeyCheck) -> LeaseStore {
    let namespace = Namespace::new(name, Randflake53).unwrap();
    let mut store = patiently(|| backend.open(&namespace)).unwrap();
    store.set_key_check(key_check);
    store
}

/// Ids of 53 bits: under one secret their key is another one than that of 64 bits, and so is its check value.
pub fn a_namespace_of_53_bit_ids_issues_no_others(backend: &impl Backend) {
    let secret = Secret::from_bytes([7; 16]);
    let numbers = KeyCheck::of(&secret.feistel53());
    let wide = KeyCheck::of(&secret.cipher());
    assert!(matches!(numbers, KeyCheck::Key53(_)));
    assert_ne!(numbers.value(), wide.value());
    let mut store = open(backend, "orders", numbers);
    let mut grant = acquire_one(&mut store, 1);

    let tagged = KeyCheck::tagged(KeyNumber::MIN, &secret.cipher());
    for other in [wide, KeyCheck::Plain, tagged] {
        let mut other = open(backend, "orders", other);
        for refused in [
            acquire(&mut other, 2, 1).map(drop),
            other.renew(&[grant], TTL).map(drop),
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
            let said = refused.to_string();
            assert!(said.contains("stored with ids of 53 bits"), "{said}");
        }
    }
    // Each time it is looked up, and after it was dropped and opened again.
    assert_eq!(backend.find("orders").unwrap().key_check(), Some(numbers));
    grant.end = patiently(|| store.renew(&[grant], TTL)).unwrap().ends[0].unwrap();
    let used = Grant {
        end: grant.start + 1,
        ..grant
    };
    patiently(|| store.release(&[used])).unwrap();
    let mut second = open(backend, "users", numbers);
    let taken = patiently(|| acquire(&mut second, 3, 1)).unwrap_err();
    assert!(matches!(taken, StoreError::SecretTaken { .. }), "{taken:?}");
    store.administration().drop_namespace().unwrap();
    let taken = patiently(|| acquire(&mut second, 4, 1)).unwrap_err();
    assert!(matches!(taken, StoreError::SecretTaken { .. }), "{taken:?}");
    // The key of 64-bit ids is another one: nobody has it yet.
    acquire_one(&mut open(backend, "users", wide), 5);
    let mut again = open(backend, "orders", numbers);
    again.administration().reopen_namespace().unwrap();
    again.administration().override_quarantine().unwrap();
    acquire_one(&mut again, 6);
    assert_eq!(backend.find("orders").unwrap().key_check(), Some(numbers));
}
