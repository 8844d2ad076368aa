//! List of the namespaces, and the end of one.

use core::time::Duration;

use randflake_core::{KeyNumber, Layout, Randflake, Randflake53};

use super::{Backend, Eight, TTL, acquire, acquire_one, eight, patiently};
use crate::rules::Loss;
use crate::secret::Secret;
use crate::store::LeaseStore;
use crate::types::{Finding, Grant, KeyCheck, Namespace, QuarantineCause, StoreError, Verdict};

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

pub fn dropped_namespace_is_reopened_by_a_person_only(backend: &impl Backend) {
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
    let namespace = Namespace::new("orders", Randflake)
        .unwrap()
        .with_max_ttl(Duration::from_secs(70));
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

/// Idle sessions of servers, services whose leases the drop has ended: what they know of the
/// namespace before is over. Each of them would close it again for the longest TTL, at whatever
/// time it wakes.
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

fn quarantine(store: &mut LeaseStore) -> Finding {
    let findings = store.administration().diagnose().unwrap();
    assert!(
        !findings
            .iter()
            .any(|finding: &Finding| matches!(finding.verdict, Verdict::Wrong(_))),
        "{findings:?}"
    );
    let quarantine = findings
        .into_iter()
        .find(|finding| finding.name == "quarantine");
    quarantine.unwrap()
}

pub fn diagnosis_reports_the_quarantine_and_only_reads(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    acquire_one(&mut store, 1);
    let before = store.list().unwrap();
    assert_eq!(quarantine(&mut store), Finding::fine("quarantine", "none"));
    assert_eq!(store.list().unwrap(), before);

    let wait = store.administration().start_quarantine().unwrap();
    let raised = quarantine(&mut store);
    assert!(matches!(raised.verdict, Verdict::Caution(_)), "{raised:?}");
    assert!(raised.value.starts_with("until 20"), "{raised:?}");
    backend.pass(wait);
    assert_eq!(quarantine(&mut store), Finding::fine("quarantine", "none"));
    acquire_one(&mut store, 2);
}

fn open(backend: &impl Backend, name: &str, key_check: KeyCheck) -> LeaseStore {
    let namespace = Namespace::new(name, Randflake53).unwrap();
    let mut store = patiently(|| backend.open(&namespace)).unwrap();
    store.set_key_check(key_check);
    store
}

/// Ids of 53 bits: under one secret their key is another one than that of 64 bits, and so is its
/// check value.
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
