//! Damaged database files: an error names the damage, and nothing panics.

use std::fs;

use randflake_std::lease::{Finding, StoreError, Verdict};
use rusqlite::Connection;

use super::{Place, TTL, acquire, failed_precondition};

/// A damaged file may be read wrongly, but never makes us panic or name no path.
fn survives(place: &Place, damage: &str) {
    let complain = |error: StoreError| match error {
        StoreError::FailedPrecondition(_) | StoreError::Unavailable(_) => {
            let told = error.to_string();
            // What is compared never is what was read: as if another had written in between.
            let is_of_others = told.contains("other clients of the store were faster");
            assert!(
                told.contains("leases.db") || is_of_others,
                "{damage}: {error}"
            );
        }
        StoreError::Quarantined { .. } | StoreError::Exhausted { .. } => {}
        _ => panic!("{damage}: {error}"),
    };
    let mut store = match place.try_open(&place.database()) {
        Ok(store) => store,
        Err(error) => return complain(error),
    };
    let acquired = acquire(&mut store);
    if let Ok(grant) = acquired {
        store.renew(&[grant], TTL).map_or_else(complain, drop);
        store.release(&[grant]).unwrap_or_else(complain);
    }
    acquired.map_or_else(complain, drop);
    store.list().map_or_else(complain, drop);
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let place = Place::new();
    let mut store = place.open();
    for _ in 0..100 {
        acquire(&mut store).unwrap();
    }
    drop(store);
    let sound = fs::read(place.database()).unwrap();
    let lock = fs::read(place.lock()).unwrap();
    let damaged = |bytes: &[u8], damage: &str| {
        fs::write(place.database(), bytes).unwrap();
        fs::write(place.lock(), &lock).unwrap();
        survives(&place, damage);
    };
    for len in (0..sound.len()).step_by(sound.len() / 40) {
        damaged(&sound[..len], &format!("cut to {len}"));
    }
    for n in 0..300 {
        let mut bytes = sound.clone();
        let at = n * 7_919 % bytes.len();
        let end = (at + n % 9 + 1).min(bytes.len());
        bytes[at..end].fill(if n % 2 == 0 { 0xff } else { 0 });
        damaged(&bytes, &format!("filled from {at} to {end}"));
    }
}

#[test]
fn a_diagnosis_tells_of_damage() {
    let place = Place::new();
    let mut store = place.open();
    let wrong = |finding: &Finding| matches!(finding.verdict, Verdict::Wrong(_));
    assert!(!store.administration().diagnose().unwrap().iter().any(wrong));
    let damage = "PRAGMA ignore_check_constraints = on; UPDATE store SET only_row = 2";
    let connection = Connection::open(place.database()).unwrap();
    connection.execute_batch(damage).unwrap();
    let findings = store.administration().diagnose().unwrap();
    let wrong: Vec<_> = findings.into_iter().filter(wrong).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].name, "quick_check");
}

#[test]
fn values_that_make_no_sense_are_an_error() {
    for (damage, rest) in [
        ("UPDATE record SET value = '' WHERE kind = 2", "list"),
        ("UPDATE record SET value = CAST(x'ff' AS TEXT)", "text"),
        ("UPDATE record SET number = 1 << 32", "number"),
        ("UPDATE record SET value = '11:' WHERE kind = 0", "load"),
        ("UPDATE store SET writes = -1", "open"),
        ("DELETE FROM store", "open"),
        ("DROP TABLE record", "all"),
    ] {
        let place = Place::new();
        acquire(&mut place.open()).unwrap();
        let connection = Connection::open(place.database()).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let listed = place
            .try_open(&place.database())
            .and_then(|mut store| store.list());
        let sentence = failed_precondition(listed);
        assert!(sentence.contains("leases.db: "), "{rest}: {sentence}");
    }
}

/// The lock is given back by a process that has read what it does not understand.
#[test]
fn a_damaged_record_holds_up_nobody() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    let connection = Connection::open(place.database()).unwrap();
    let damage = "UPDATE record SET value = '11:' WHERE kind = 2";
    connection.execute_batch(damage).unwrap();
    drop(connection);
    let sentence = failed_precondition(store.renew(&[grant], TTL));
    let damaged = format!("node id {} of \"orders\": it is damaged", grant.node_id);
    assert!(sentence.contains(&damaged), "{sentence}");
    place.open().counter().status().unwrap();
}
