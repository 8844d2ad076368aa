//! Engine of an assigned node id: reads, writes and removals.

use randflake_std::unstable::engine::{Ask, Engine};
use randflake_std::unstable::rules::{Before, Entry, Key, Keys, Removal, Write, WriteOutcome};

use super::{NODE, Place};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::failing_calls::{Fault, with_fault};

fn state(engine: &mut dyn Engine) -> (String, Vec<Key>) {
    let asked = [Keys::One(Key::Namespace), Keys::One(Key::Node(NODE))];
    let reading = engine.read(&Ask::with_state(&asked)).unwrap();
    let keys = reading.texts.into_keys().collect();
    (reading.continuity.fingerprint, keys)
}

fn entry(key: Key, before: Before, after: &str) -> Entry {
    Entry {
        key,
        before,
        after: Some(after.to_owned()),
    }
}

fn write(fingerprint: &str, entries: &[Entry]) -> Write {
    Write {
        fingerprint: fingerprint.to_owned(),
        entries: entries.to_vec(),
        ..Write::default()
    }
}

#[test]
fn a_write_needs_what_it_was_decided_on() {
    let place = Place::new();
    let mut store = place.store();
    let (engine, _) = store.internals().unwrap();
    let (known, _) = state(engine);
    let first = entry(Key::Node(NODE), Before::Nothing, "first");
    for (fingerprint, before) in [
        ("another", Before::Nothing),
        (&*known, Before::Text("other".to_owned())),
    ] {
        let stale = write(fingerprint, &[entry(Key::Node(NODE), before, "first")]);
        assert_eq!(engine.write(&stale).unwrap(), WriteOutcome::Stale);
        assert_eq!(state(engine).1, []);
    }
    let first = write(&known, &[first]);
    assert_ne!(engine.write(&first).unwrap(), WriteOutcome::Stale);
    assert_eq!(engine.write(&first).unwrap(), WriteOutcome::Stale);
    assert_eq!(state(engine).1, [Key::Node(NODE)]);
}

#[test]
fn there_is_room_for_one_node_id() {
    let place = Place::new();
    let mut store = place.store();
    let (engine, _) = store.internals().unwrap();
    let (known, _) = state(engine);
    for key in [Key::Node(NODE + 1), Key::Counter, Key::Device(1)] {
        let refused = engine
            .write(&write(&known, &[entry(key, Before::Anything, "text")]))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("it keeps one node id"), "{refused}");
    }
    // Nobody looks for these here.
    let others = [Key::Claim(1), Key::Hint(1), Key::History(NODE, 0)]
        .map(|key| entry(key, Before::Anything, "text"));
    assert_ne!(
        engine.write(&write(&known, &others)).unwrap(),
        WriteOutcome::Stale
    );
    assert_eq!(state(engine).1, []);
}

#[test]
fn leases_go_with_their_own_namespace_only() {
    let place = Place::new();
    let mut store = place.store();
    let (engine, _) = store.internals().unwrap();
    engine.remove(&Removal::Contents("orders")).unwrap();
    let (known, _) = state(engine);
    let both = [
        entry(Key::Namespace, Before::Nothing, "orders"),
        entry(Key::Node(NODE), Before::Nothing, "lease"),
    ];
    engine.write(&write(&known, &both)).unwrap();
    for (removal, left) in [
        (Removal::Contents("users"), 2),
        (Removal::History(NODE, 0..=9), 2),
        (Removal::Contents("orders"), 1),
    ] {
        engine.remove(&removal).unwrap();
        assert_eq!(state(engine).1.len(), left);
    }
    assert_eq!(state(engine).1, [Key::Namespace]);
}

/// The bytes, the file, and of a new one its name: whichever call fails, the write is not answered.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_write_is_on_the_disk_before_it_is_answered() {
    let calls = |is_first: bool| {
        let failing = |sound: &u32| {
            let place = Place::new();
            let mut store = place.store();
            let (engine, _) = store.internals().unwrap();
            let (known, _) = state(engine);
            let write = write(&known, &[entry(Key::Node(NODE), Before::Anything, "text")]);
            if !is_first {
                engine.write(&write).unwrap();
            }
            let (outcome, has_struck) =
                with_fault(*sound, Fault::Broken, false, || engine.write(&write));
            assert_eq!(outcome.is_err(), has_struck);
            has_struck
        };
        (0..100).take_while(failing).count()
    };
    assert_eq!((calls(true), calls(false)), (3, 2));
}
