//! A handle that is being closed while its store takes its time.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use randflake_core::{Clock, Field, LayoutFields, LayoutSpec, Plain};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, GenerateError, Health, Layout, Randflake};

const TICK: Duration = Duration::from_secs(40 * 365 * 24 * 3_600);
/// Far longer than any of this takes.
const LIMIT: Duration = TICK.saturating_mul(3);

/// The store answers when nobody has the lock.
#[derive(Default)]
struct Gate(Mutex<()>);

impl Clock for Gate {
    fn now(&self) -> Option<Duration> {
        let _open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ExactSystemClock.now()
    }
}

/// Four ids in a tick of 40 years, from 2009 to 2049: exhausted for the rest of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        sequence: Field { bits: 2, shift: 0 },
        timestamp: Field {
            bits: 16,
            shift: 34,
        },
        tick_ms: 1_000 * TICK.as_secs(),
        epoch_unix_ms: 0,
        ..Randflake::SPEC.fields()
    });
}

#[test]
fn whoever_waits_for_an_id_is_told_while_the_store_is_still_releasing() {
    let gate = Arc::new(Gate::default());
    let namespace = Namespace::new("test", Slow).unwrap();
    let namespace = namespace.with_max_ttl(LIMIT);
    let store = MemoryStore::new(namespace, Arc::clone(&gate));
    let handle = Builder::new(Slow, Plain, store).ttl(LIMIT).build().unwrap();
    while handle.generate().is_ok() {}
    let waits_before = handle.clone();
    let waits_before = thread::spawn(move || waits_before.generate_wait(LIMIT));

    let closed = gate.0.lock().unwrap();
    let closing = handle.clone();
    let closing = thread::spawn(move || closing.close());
    // Both who waited before and who asks now have their answer before the store has given any.
    assert!(waits_before.join().unwrap().is_err());
    while !matches!(handle.health(), Health::Closed) {
        thread::yield_now();
    }
    let error = handle.generate_wait(LIMIT).unwrap_err();
    assert!(
        matches!(
            error,
            GenerateError::Sealed | GenerateError::SequenceExhausted { .. }
        ),
        "{error:?}"
    );
    assert!(!closing.is_finished(), "the store has not answered yet");
    drop(closed);
    closing.join().unwrap().unwrap();
}
