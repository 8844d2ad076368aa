//! What an engine writes, beneath the rules.

use core::iter;

use crate::rules::{Before, Entry, Key, Keys, Removal, Write, WriteOutcome};
use crate::store::{Ask, Engine};

use super::{Backend, eight};

/// Keys in their order, each with a text of its own.
const KEYS: [Key; 7] = [
    Key::Node(3),
    Key::Node(4),
    Key::Hint(3),
    Key::History(3, 1),
    Key::History(3, 2),
    Key::History(4, 1),
    Key::Device(3),
];

fn write_all(engine: &mut dyn Engine, fingerprint: &str) -> WriteOutcome {
    let entry = |(nth, key): (usize, &Key)| Entry {
        key: *key,
        before: Before::Anything,
        after: Some(format!("text {nth}")),
    };
    let write = Write {
        fingerprint: fingerprint.to_owned(),
        entries: KEYS.iter().enumerate().map(entry).collect(),
        ..Write::default()
    };
    engine.write(&write).unwrap()
}

fn fingerprint(engine: &mut dyn Engine) -> String {
    let asked = [Keys::One(Key::Node(3))];
    let reading = engine.read(&Ask::with_state(&asked)).unwrap();
    reading.continuity.fingerprint
}

/// What is there of some ranges.
fn there(engine: &mut dyn Engine, asked: &[Keys]) -> Vec<Key> {
    let texts = engine.read(&Ask::texts(asked)).unwrap().texts;
    for (key, text) in &texts {
        let nth = KEYS.iter().position(|other| other == key).unwrap();
        assert_eq!(*text, format!("text {nth}"));
    }
    texts.into_keys().collect()
}

pub fn a_read_gives_what_was_asked_for(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let (engine, _) = store.internals().unwrap();
    let known = fingerprint(engine);
    assert_ne!(write_all(engine, &known), WriteOutcome::Stale);
    for (nth, key) in KEYS.iter().enumerate() {
        assert_eq!(there(engine, &[Keys::One(*key)]), [*key], "{nth}");
    }
    assert_eq!(there(engine, &[Keys::Nodes(0..=3)]), [KEYS[0]]);
    assert_eq!(there(engine, &[Keys::Nodes(4..=9)]), [KEYS[1]]);
    assert_eq!(there(engine, &[Keys::History(3, 0..=1)]), [KEYS[3]]);
    assert_eq!(there(engine, &[Keys::History(3, 2..=9)]), [KEYS[4]]);
    let parts = [Keys::Nodes(3..=4), Keys::Hints(0..=9)];
    assert_eq!(there(engine, &parts), KEYS[..3]);
}

/// Neither is anything that was decided on another state of the engine.
pub fn nothing_is_written_or_removed_beside_its_condition(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    store.administration().create_namespace().unwrap();
    let (engine, _) = store.internals().unwrap();
    let known = fingerprint(engine);
    assert_eq!(
        write_all(engine, &format!("0{known}9")),
        WriteOutcome::Stale
    );
    let all = KEYS.map(Keys::One);
    assert_eq!(there(engine, &all), []);

    let known = fingerprint(engine);
    assert_ne!(write_all(engine, &known), WriteOutcome::Stale);
    engine.remove(&Removal::Contents("-")).unwrap();
    assert_eq!(there(engine, &all), KEYS);
    engine.remove(&Removal::History(3, 0..=1)).unwrap();
    let left = [&KEYS[..3], &KEYS[4..]].concat();
    assert_eq!(there(engine, &all), left);
    let asked = [Keys::One(Key::Namespace)];
    let texts = engine.read(&Ask::texts(&asked)).unwrap().texts;
    let guard = &texts[&Key::Namespace];
    engine.remove(&Removal::Contents(guard)).unwrap();
    assert_eq!(there(engine, &all), []);
    let texts = engine.read(&Ask::texts(&asked)).unwrap().texts;
    assert_eq!(texts.len(), 1);
}

/// Also where it is more than a server takes in one request.
pub fn a_large_write_is_all_or_nothing(backend: &impl Backend) {
    const PLACES: u16 = 300;
    let mut store = backend.open(&eight("orders")).unwrap();
    let (engine, _) = store.internals().unwrap();
    let past = [Keys::History(0, 0..=PLACES - 1)];
    // A text of its own for each write: by that, an engine knows a repetition.
    let write = |fingerprint: String, before, text: &str| {
        let entry = |key, before| Entry {
            key,
            before,
            after: Some(text.to_owned()),
        };
        let first = entry(Key::Node(0), before);
        let others = (0..PLACES).map(|place| entry(Key::History(0, place), Before::Anything));
        Write {
            fingerprint,
            entries: iter::once(first).chain(others).collect(),
            ..Write::default()
        }
    };
    let mut commit = |before, text: &str| {
        let state = engine.read(&Ask::with_state(&past)).unwrap().continuity;
        let write = write(state.fingerprint, before, text);
        let is_written = engine.write(&write).unwrap() != WriteOutcome::Stale;
        let texts = engine.read(&Ask::texts(&past)).unwrap().texts;
        let written = texts.values().filter(|there| *there == text).count();
        assert_eq!(written, if is_written { PLACES.into() } else { 0 });
        is_written
    };
    let there = |text: &str| Before::Text(text.to_owned());
    assert!(!commit(there("first"), "second"));
    assert!(commit(Before::Nothing, "first"));
    assert!(!commit(Before::Nothing, "third"));
    assert!(!commit(there("second"), "third"));
    assert!(commit(there("first"), "second"));
}
