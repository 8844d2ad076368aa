//! The end of a handle: what is issued no more, released and told.

use std::sync::Arc;
use std::thread;

use randflake_core::Plain;
use randflake_std::lease::{MemoryStore, Namespace, StoreError};
use randflake_std::{Builder, GenerateError, Health};

use super::{LONG_TTL, PATIENCE, builder, live, store};
use crate::gate::Gate;
use crate::layouts::{SLOW_TTL, Slow};

#[test]
fn closing_ends_every_clone_and_releases_what_was_not_used() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).node_ids(3).build().unwrap();
    let clone = handle.clone();
    let last = handle.inspect(handle.generate().unwrap());
    handle.close().unwrap();
    assert_eq!(clone.generate(), Err(GenerateError::Sealed));
    assert_eq!(clone.generate_wait(PATIENCE), Err(GenerateError::Sealed));
    clone.close().unwrap();

    let records = store.clone().list().unwrap();
    let ends: Vec<_> = records
        .iter()
        .map(|record| record.grant.end - record.grant.start)
        .collect();
    assert_eq!(
        ends.iter().sum::<u64>(),
        last.tick - records[0].grant.start + 1
    );
}

#[test]
fn a_failing_release_is_told_and_nothing_is_issued_all_the_same() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    store.fail_next(u32::MAX);
    assert!(matches!(handle.close(), Err(StoreError::Unavailable(_))));
    assert_eq!(handle.generate(), Err(GenerateError::Sealed));
}

#[test]
fn dropping_the_last_clone_releases() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    let clone = handle.clone();
    drop(handle);
    clone.generate().unwrap();
    let end = live(&store)[0].end;
    drop(clone);
    let released = store.clone().list().unwrap()[0].grant.end;
    assert!(released < end);
}

#[test]
fn whoever_waits_for_an_id_is_told_while_the_store_is_still_releasing() {
    let gate = Arc::new(Gate::default());
    let namespace = Namespace::new("test", Slow).unwrap();
    let namespace = namespace.with_max_ttl(SLOW_TTL);
    let store = MemoryStore::new(namespace, Arc::clone(&gate));
    let builder = Builder::new(Slow, Plain, store).ttl(SLOW_TTL);
    let handle = builder.build().unwrap();
    while handle.generate().is_ok() {}
    let waits_before = handle.clone();
    let waits_before = thread::spawn(move || waits_before.generate_wait(SLOW_TTL));

    gate.close();
    let closing = handle.clone();
    let closing = thread::spawn(move || closing.close());
    // Both who waited before and who asks now have their answer before the store has given any.
    assert!(waits_before.join().unwrap().is_err());
    while !matches!(handle.health(), Health::Closed) {
        thread::yield_now();
    }
    let error = handle.generate_wait(SLOW_TTL).unwrap_err();
    assert!(
        matches!(
            error,
            GenerateError::Sealed | GenerateError::SequenceExhausted { .. }
        ),
        "{error:?}"
    );
    assert!(!closing.is_finished(), "the store has not answered yet");
    gate.open();
    closing.join().unwrap().unwrap();
}
