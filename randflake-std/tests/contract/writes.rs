//! What an engine writes, beneath the rules.

use core::iter;

use randflake_std::rules::{Before, Committed, Entry, Key, Keys, Write};
use randflake_std::store::Ask;

use super::{Backend, eight};

/// Also where it is more than a server takes in one request.
pub(crate) fn a_large_write_is_all_or_nothing(backend: &impl Backend) {
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
        let is_written = engine.write(&write).unwrap() != Committed::Stale;
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
