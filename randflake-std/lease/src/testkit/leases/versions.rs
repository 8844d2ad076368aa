//! Programs of two versions in one namespace: what the older one carries along, and when it has to
//! stop.

use crate::rules::{Before, Entry, Key, Keys, Write};
use crate::store::Ask;
use crate::store::LeaseStore;
use crate::types::{
    AcquireRequest, DeviceRequest, Grant, Namespace, NodeIds, Record, StoreError, Upgrade,
};
use randflake_core::Randflake;

use super::{Backend, TTL, acquire, acquire_one, eight, patiently, ticks, token};
use crate::testkit::referee::Referee;

/// A version that this program does not know.
pub const LATER: u8 = 2;
const TAIL: &str = ":of a later version:7";

/// A client that knows a version.
fn open(backend: &impl Backend, namespace: &Namespace, version: u8) -> LeaseStore {
    let mut store = backend.open(namespace).unwrap();
    *store.internals().unwrap().1 = version;
    store
}

/// The texts of some keys, with the rest of what was read.
fn read(store: &mut LeaseStore, keys: &[Keys]) -> Vec<String> {
    let (engine, _) = store.internals().unwrap();
    let reading = engine.read(&Ask::with_state(keys));
    engine.abandon();
    reading.unwrap().texts.into_values().collect()
}

pub fn text(store: &mut LeaseStore, key: Key) -> String {
    read(store, &[Keys::One(key)]).remove(0)
}

/// Changes a text as a program of another version would.
fn change(store: &mut LeaseStore, key: Key, change: impl Fn(&str) -> String) {
    let (engine, _) = store.internals().unwrap();
    let keys = [Keys::One(Key::Namespace), Keys::One(key)];
    let reading = engine.read(&Ask::with_state(&keys)).unwrap();
    let before = &reading.texts[&key];
    let entry = Entry {
        key,
        before: Before::Text(before.clone()),
        after: Some(change(before)),
    };
    let written = engine.write(&Write {
        fingerprint: reading.continuity.fingerprint,
        entries: vec![entry],
        ..Write::default()
    });
    assert_ne!(written.unwrap(), crate::rules::WriteOutcome::Stale);
}

/// Adds what readers need not know.
pub fn plant(store: &mut LeaseStore, key: Key) {
    change(store, key, |text| format!("21{}{TAIL}", &text[2..]));
}

pub fn is_planted(text: &str) -> bool {
    text.starts_with("21:") && text.ends_with(TAIL)
}

fn chosen(store: &mut LeaseStore, number: u128, node_id: u32) -> Grant {
    let request = AcquireRequest {
        token: token(number),
        holder: "a:holder",
        nodes: NodeIds::These(&[node_id]),
        ttl: TTL,
    };
    patiently(|| store.acquire(&request)).unwrap().grants[0]
}

fn is_newer<T>(outcome: Result<T, StoreError>) -> bool {
    match outcome {
        Err(error @ StoreError::FailedPrecondition(_)) => {
            error.to_string().contains("update this one")
        }
        _ => false,
    }
}

pub fn what_a_later_version_has_added_is_kept(backend: &impl Backend) {
    const NODE: u32 = 70;
    // Large enough for hints.
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let mut store = backend.open(&namespace).unwrap();
    let store = &mut store;
    let node = Key::Node(NODE);
    let mut grant = chosen(store, 1, NODE);
    plant(store, node);
    plant(store, Key::Namespace);
    // The first renewal reads what was changed; those after it write over what they remember, where
    // the engine allows that.
    for _ in 0..3 {
        backend.pass(ticks(1));
        grant.end = patiently(|| store.renew(&[grant], TTL)).unwrap().ends[0].unwrap();
        assert!(is_planted(&text(store, node)));
    }
    let used = Grant {
        end: grant.start + 1,
        ..grant
    };
    patiently(|| store.release(&[used])).unwrap();
    let released = text(store, node);
    assert!(is_planted(&released), "{released}");
    let hints = read(store, &[Keys::Hints(0..=8)]);
    assert!(
        hints
            .iter()
            .any(|hint: &String| hint.ends_with(&format!(":{NODE}:{released}"))),
        "{hints:?}"
    );

    // Another lease takes its place, and keeps the text of the one before.
    let mut another = backend.open(&namespace).unwrap();
    chosen(&mut another, 2, NODE);
    assert!(is_planted(&text(store, node)));
    assert_eq!(text(store, Key::History(NODE, 0)), released);
    let history = store.history().read(NODE..=NODE).unwrap();
    assert_eq!((history.leases().count(), history.gaps()), (2, &[][..]));

    store.administration().start_quarantine().unwrap();
    store.administration().drop_namespace().unwrap();
    assert!(is_planted(&text(store, Key::Namespace)));
    backend.pass(ticks(3 * TTL));
    store.administration().reopen_namespace().unwrap();
    assert!(is_planted(&text(store, Key::Namespace)));
}

/// Each acquires, renews and releases in turn, and finds what the other one has written.
pub fn two_versions_share_a_namespace(backend: &impl Backend) {
    let namespace = eight("orders");
    let mut clients = [1, LATER].map(|version| open(backend, &namespace, version));
    let mut referee = Referee::default();
    for round in 0..12 {
        let mut held: Vec<Grant> = Vec::new();
        for (number, store) in clients.iter_mut().enumerate() {
            let token = u128::from(round * 2 + number as u64 + 1);
            let grants = acquire(store, token, 3).unwrap().grants;
            referee.granted(&grants);
            if number == 1 {
                plant(store, Key::Node(grants[0].node_id));
            }
            held.extend(grants);
        }
        backend.pass(ticks(1));
        for (store, grants) in clients.iter_mut().zip(held.chunks_mut(3)) {
            let ends = patiently(|| store.renew(grants, TTL)).unwrap().ends;
            for (grant, end) in grants.iter_mut().zip(ends) {
                let end = end.unwrap();
                referee.renewed(grant, end);
                grant.end = end;
            }
        }
        // Crosswise what has expired, and what was released.
        if round % 3 == 0 {
            backend.pass(ticks(TTL + 1));
            continue;
        }
        for (store, grants) in clients.iter_mut().zip(held.chunks_mut(3)) {
            for grant in &mut *grants {
                grant.end = grant.start + 1;
                referee.released(grant);
            }
            patiently(|| store.release(grants)).unwrap();
        }
    }
    assert_eq!(referee.intervals(), 72);
    assert_eq!(clients[0].administration().version().unwrap(), 1);
}

pub fn an_upgrade_waits_for_older_holders(backend: &impl Backend) {
    let namespace = eight("orders");
    let [mut old, mut new] = [1, LATER].map(|version| open(backend, &namespace, version));
    let (old, new) = (&mut old, &mut new);
    let ours = acquire_one(new, 1);
    let theirs = acquire_one(old, 2);
    assert_eq!(
        old.administration().upgrade_namespace(false).unwrap(),
        done(1, 1)
    );
    let before = text(old, Key::Namespace);
    let Upgrade::OlderHolders {
        before: 1,
        version: LATER,
        holders,
    } = new.administration().upgrade_namespace(false).unwrap()
    else {
        panic!("an older holder is overlooked");
    };
    let of: fn(&Record) -> _ = |record| (record.grant.node_id, record.version);
    assert_eq!(
        holders.iter().map(of).collect::<Vec<_>>(),
        [(theirs.node_id, 1)]
    );
    // Nobody was kept from anything by that.
    assert_eq!(text(old, Key::Namespace), before);
    let more = acquire_one(old, 3);

    // As far as it comes before it ends: it is said in the record that no older program acquires.
    change(new, Key::Namespace, |text| text.replacen(":11:", ":12:", 1));
    let refused = acquire(old, 4, 1).unwrap_err().to_string();
    assert!(
        refused.contains("is being upgraded to version 2"),
        "{refused}"
    );
    backend.pass(ticks(1));
    // Nor does one take over a lease of a newer holder, as servers do for clients that use them in
    // turns: the upgrade may have looked already.
    let refused = old.renew(&[theirs, ours], TTL).unwrap_err().to_string();
    assert!(
        refused.contains("is being upgraded to version 2"),
        "{refused}"
    );
    let ends = patiently(|| old.renew(&[theirs, more], TTL)).unwrap().ends;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    let outcome = new.administration().upgrade_namespace(false).unwrap();
    assert!(matches!(outcome, Upgrade::OlderHolders { holders, .. } if holders.len() == 2));
    let last = acquire_one(old, 5);

    patiently(|| old.release(&[theirs, more, last])).unwrap();
    assert_eq!(
        new.administration().upgrade_namespace(false).unwrap(),
        done(1, LATER)
    );
    assert_eq!(
        new.administration().upgrade_namespace(false).unwrap(),
        done(LATER, LATER)
    );
    assert_eq!(new.administration().version().unwrap(), LATER);
    assert!(is_newer(acquire(old, 6, 1)));
    backend.pass(ticks(1));
    assert!(patiently(|| new.renew(&[ours], TTL)).unwrap().ends[0].is_ok());
    acquire_one(new, 7);
}

/// What it has leased lasts as long as it knows, and nobody else has it until then.
pub fn older_holder_writes_nothing_after_an_upgrade(backend: &impl Backend) {
    let namespace = eight("orders");
    let [mut old, mut new] = [1, LATER].map(|version| open(backend, &namespace, version));
    let (old, new) = (&mut old, &mut new);
    let mut referee = Referee::default();
    let theirs = acquire_one(old, 1);
    referee.granted(&[theirs]);
    assert_eq!(
        new.administration().upgrade_namespace(true).unwrap(),
        done(1, LATER)
    );
    let all = [
        Keys::One(Key::Namespace),
        Keys::Nodes(0..=7),
        Keys::Hints(0..=8),
    ];
    let before = read(new, &all);
    backend.pass(ticks(1));
    for _ in 0..2 {
        assert!(is_newer(old.renew(&[theirs], TTL)));
        assert!(is_newer(old.release(&[theirs])));
        assert!(is_newer(acquire(old, 1, 1)));
        assert!(is_newer(acquire(old, 2, 1)));
        assert!(is_newer(old.administration().start_quarantine()));
        assert!(is_newer(old.administration().drop_namespace()));
        assert!(is_newer(old.administration().upgrade_namespace(true)));
        let register = DeviceRequest::Register {
            owner: None,
            reported: Some(1),
        };
        let registered = old.devices().request(7, &register).unwrap_err().to_string();
        assert!(registered.contains("update this one"), "{registered}");
    }
    assert_eq!(read(new, &all), before);
    // All but one are free for those who know the version; that one, when its lease has ended.
    referee.granted(&acquire(new, 3, 7).unwrap().grants);
    assert!(matches!(
        acquire(new, 4, 1),
        Err(StoreError::Exhausted { .. })
    ));
    backend.pass(ticks(TTL));
    referee.granted(&acquire(new, 5, 1).unwrap().grants);
}

fn done(before: u8, version: u8) -> Upgrade {
    Upgrade::Done { before, version }
}
