//! Clocks that are wrong, and stores that forget.

use core::iter;
use core::time::Duration;

use randflake_core::{Layout, Randflake};

use super::{
    Backend, Eight, TTL, acquire, acquire_one, eight, record_of, renew_after_a_leap, ticks,
};
use crate::rules::{Before, Entry, Key, Keys, Removal, Write, WriteOutcome};
use crate::store::{Ask, Engine, LeaseStore};
use crate::testkit::referee::Referee;
use crate::types::{Grant, Loss, MAX_SKEW, Namespace, QuarantineCause, StoreError};

/// Sets the clock of the first client.
fn step_to(backend: &impl Backend, store: &mut LeaseStore, unix_ms: u64) {
    let now_ms = u64::try_from(store.now().unwrap().as_millis()).unwrap();
    backend.step_clock(0, unix_ms.cast_signed() - now_ms.cast_signed());
}

fn quarantined_for(error: &StoreError) -> Duration {
    match error {
        StoreError::Quarantined { retry_in, .. } => *retry_in,
        _ => panic!("{error:?}"),
    }
}

pub fn a_clock_that_steps_back_frees_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    let grants = acquire(&mut store, 1, 8).unwrap().grants;
    referee.granted(&grants);
    backend.step_clock(0, -3_600_000);
    let refused = acquire(&mut store, 2, 1).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > Duration::from_secs(3_600), "{retry_in:?}");

    // An hour ahead, the leases seem to be over. Who takes them begins after their end.
    backend.step_clock(0, 7_200_000);
    let taken = acquire(&mut store, 2, 8).unwrap().grants;
    referee.granted(&taken);
    backend.step_clock(0, -3_600_000);
    let renewed = renew_after_a_leap(&mut store, &grants).ends;
    assert!(renewed.iter().all(Result::is_err), "{renewed:?}");
    assert!(acquire(&mut store, 3, 1).is_err());
}

pub fn a_clock_outside_the_layout_is_refused(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    let spec = Eight::SPEC;
    step_to(backend, &mut store, spec.epoch_unix_ms() - 1);
    for refused in [
        acquire(&mut store, 2, 1).map(drop),
        store.renew(&[grant], TTL).map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }

    step_to(backend, &mut store, spec.unix_ms(spec.max_tick() + 1));
    let refused = acquire(&mut store, 2, 1);
    assert!(
        matches!(refused, Err(StoreError::FailedPrecondition(_))),
        "{refused:?}"
    );
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Expired)]
    );
}

pub fn the_last_tick_cuts_a_lease_short(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let spec = Eight::SPEC;
    step_to(backend, &mut store, spec.unix_ms(spec.max_tick() - 9));
    let grant = acquire_one(&mut store, 1);
    assert_eq!(
        (grant.start, grant.end),
        (spec.max_tick() - 9, spec.max_tick() + 1)
    );
    assert!(grant.lease(Eight).is_ok());
    assert_eq!(store.renew(&[grant], TTL).unwrap().ends, [Ok(grant.end)]);
}

pub fn a_quarantine_holds_until_everything_has_expired(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    let max_ttl = store.namespace().max_ttl();
    let wait = store.administration().start_quarantine().unwrap();
    assert!(
        wait.abs_diff(max_ttl + 2 * MAX_SKEW) <= ticks(1),
        "{wait:?}"
    );

    let left = quarantined_for(&acquire(&mut store, 2, 1).unwrap_err());
    assert!(left <= wait && left + ticks(1) > wait, "{left:?}");
    // What is held goes on.
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());

    // A clock that went back holds longer, and a second quarantine does not end before the first.
    backend.step_clock(0, -100_000);
    store.administration().start_quarantine().unwrap();
    let left = quarantined_for(&acquire(&mut store, 2, 1).unwrap_err());
    assert!(left + ticks(1) > wait + ticks(100), "{left:?}");
    backend.pass(left);
    acquire_one(&mut store, 2);
}

/// One that was set by a clock a year ahead, and one that was not needed.
pub fn a_quarantine_can_be_ended(backend: &impl Backend) {
    const YEAR_MS: i64 = 365 * 24 * 3_600_000;
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    referee.granted(&[acquire_one(&mut store, 1)]);
    backend.step_clock(0, YEAR_MS);
    store.administration().start_quarantine().unwrap();
    backend.step_clock(0, -YEAR_MS);
    quarantined_for(&acquire(&mut store, 2, 1).unwrap_err());
    // It is not new.
    let refused = store.administration().end_quarantine();
    assert!(matches!(refused, Err(StoreError::NotNew(_))), "{refused:?}");
    quarantined_for(&acquire(&mut store, 2, 1).unwrap_err());
    store.administration().override_quarantine().unwrap();
    referee.granted(&[acquire_one(&mut store, 2)]);
}

/// Two processes have one lease, as copies have: the second one to renew learns of the first.
pub fn a_copy_of_a_holder_is_noticed(backend: &impl Backend) {
    let mut original = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut original, 1);
    // Any process may go on with a grant that it knows.
    let mut copy = backend.open(&eight("orders")).unwrap();
    let renewed = copy.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    backend.pass(ticks(10));
    let contested = [Err(Loss::Contested)];
    assert_eq!(original.renew(&[grant], TTL).unwrap().ends, contested);
    let record = record_of(&mut copy, grant.node_id);
    assert_eq!((record.contested, record.grant.end), (true, renewed));
    // What the second one says of the lease has no effect, and the first one goes on.
    original.release(&[grant]).unwrap();
    let ends = copy.renew(&[grant], TTL).unwrap().ends;
    assert!(ends[0].is_ok_and(|end| end > renewed), "{ends:?}");
    assert_eq!(original.renew(&[grant], TTL).unwrap().ends, contested);
}

/// A live lease that the store does not know any more: others may be forgotten too.
pub fn a_lease_that_vanished_sets_a_quarantine(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    let unknown = Grant {
        node_id: (grant.node_id + 1) % 8,
        ..grant
    };
    assert_eq!(
        store.renew(&[unknown], TTL).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
    let left = quarantined_for(&acquire(&mut store, 2, 1).unwrap_err());
    assert!(left > store.namespace().max_ttl(), "{left:?}");
    // One that had expired by then says nothing.
    store.administration().override_quarantine().unwrap();
    let expired = Grant {
        end: grant.start,
        ..unknown
    };
    assert_eq!(
        store.renew(&[expired], TTL).unwrap().ends,
        [Err(Loss::Expired)]
    );
    acquire_one(&mut store, 3);
}

/// Lost, made anew by somebody with any terms, and granting: holders of leases in the one before
/// stops at the next renewal, and the new one waits until those leases are over.
pub fn a_namespace_that_was_made_anew_ends_every_lease(backend: &impl Backend) {
    for (name, other) in [
        ("same", eight("same")),
        ("another", Namespace::new("another", Randflake).unwrap()),
    ] {
        let mut holder = backend.open(&eight(name)).unwrap();
        let grants = acquire(&mut holder, 1, 3).unwrap().grants;
        let mut administrator = backend.open(&eight(name)).unwrap();
        administrator.administration().drop_namespace().unwrap();
        let mut anew = backend.open(&other).unwrap();
        anew.administration().reopen_namespace().unwrap();
        anew.administration().override_quarantine().unwrap();
        acquire(&mut anew, 2, 4).unwrap();

        let renewed = holder.renew(&grants, TTL).unwrap().ends;
        assert_eq!(renewed, [Err(Loss::Forgotten); 3], "{name}");
        let quarantine = anew.administration().current_quarantine().unwrap().unwrap();
        assert_eq!(quarantine.cause, QuarantineCause::Lost);
        let end = Duration::from_millis(Eight::SPEC.unix_ms(grants[0].end));
        assert!(quarantine.until >= end, "{quarantine:?} {end:?}");
        assert!(quarantine.until <= end + ticks(1), "{quarantine:?} {end:?}");
        // Nothing else was changed.
        let found = backend.find(name).unwrap();
        assert_eq!(found.spec().fields(), other.spec().fields());
        // Who is a server for others says so of their leases, and closes nothing by it.
        anew.administration().override_quarantine().unwrap();
        let mut server = backend.open(&eight(name));
        if let Ok(server) = &mut server {
            server.act_as_proxy();
            let ends = server.renew(&grants, TTL).unwrap().ends;
            assert!(ends.iter().all(Result::is_err), "{ends:?}");
        }
        assert_eq!(anew.administration().current_quarantine().unwrap(), None);
    }
}

pub fn a_store_that_forgot_waits(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    // A clock that was ahead has granted what ends later than any lease should.
    backend.step_clock(0, 3_600_000);
    let ahead = acquire(&mut store, 1, 2).unwrap().grants;
    backend.step_clock(0, -3_600_000);
    let grants = acquire(&mut store, 2, 2).unwrap().grants;
    referee.granted(&ahead);
    referee.granted(&grants);

    backend.lose_memory();
    let renewed = store.renew(&grants, TTL).unwrap().ends;
    assert_eq!(renewed, [Err(Loss::Forgotten); 2]);
    assert_eq!(store.list().unwrap(), []);
    let left = quarantined_for(&acquire(&mut store, 3, 1).unwrap_err());
    assert!(left >= store.namespace().max_ttl(), "{left:?}");
    assert!(left >= ticks(3_600 + TTL - 1), "{left:?}");

    // Another client, and one of another namespace, wait as well.
    let mut other = backend.open(&eight("orders")).unwrap();
    quarantined_for(&acquire(&mut other, 3, 1).unwrap_err());
    backend.pass(left);
    referee.granted(&acquire(&mut store, 3, 8).unwrap().grants);
}

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
    let write = Write {
        fingerprint: fingerprint.to_owned(),
        entries: KEYS
            .iter()
            .enumerate()
            .map(|(nth, key): (usize, &Key)| Entry {
                key: *key,
                before: Before::Anything,
                after: Some(format!("text {nth}")),
            })
            .collect(),
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
