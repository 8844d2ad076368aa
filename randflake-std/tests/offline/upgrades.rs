//! Handle of an older program in a namespace that was upgraded.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, Upgrade};
use randflake_std::unstable::engine::Ask;
use randflake_std::unstable::rules::{Key, Keys};
use randflake_std::{Builder, Health, Plain, Snowflake};

const LATER: u8 = 2;

fn texts(store: &mut LeaseStore) -> Vec<String> {
    let keys = [Keys::One(Key::Namespace), Keys::Nodes(0..=u32::MAX)];
    let (engine, _) = store.internals().unwrap();
    let reading = engine.read(&Ask::texts(&keys));
    reading.unwrap().texts.into_values().collect()
}

#[test]
fn older_handle_issues_until_its_lease_ends() {
    let namespace = Namespace::new("orders", Snowflake).unwrap();
    let store = MemoryStore::with_system_clock(namespace.clone());
    let mut later = store.open(namespace.clone()).unwrap();
    let mut another = store.open(namespace).unwrap();
    *later.internals().unwrap().1 = LATER;
    *another.internals().unwrap().1 = LATER;

    let ttl = Duration::from_secs(3);
    let older = Builder::new(Snowflake, Plain, store)
        .ttl(ttl)
        .build()
        .unwrap();
    let mut ids = BTreeSet::from([older.generate().unwrap()]);
    let upgraded = Upgrade::Done {
        before: 1,
        version: LATER,
    };
    assert_eq!(
        later.administration().upgrade_namespace(true).unwrap(),
        upgraded
    );
    let before = texts(&mut later);
    let mut degraded = None;
    while let Ok(id) = older.generate() {
        assert!(ids.insert(id), "{id} twice");
        if let Health::Degraded { error, .. } = older.health() {
            degraded = Some(error.to_string());
        }
        thread::sleep(Duration::from_millis(1));
    }
    let why = degraded.unwrap();
    assert!(
        why.contains("a newer randflake made it (version 2; this one knows 1)"),
        "{why}"
    );
    assert!(!older.health().is_ready(), "{:?}", older.health());
    assert_eq!(texts(&mut later), before);

    let newer = Builder::new(Snowflake, Plain, another).build().unwrap();
    for _ in 0..1_000 {
        assert!(ids.insert(newer.generate().unwrap()));
    }
}
