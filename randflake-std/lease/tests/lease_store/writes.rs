//! Writes beside the records of leases: ends, quarantines, hints and counters.

use randflake_lease::unstable::rules::{Key, NamespaceRecord, NodeRecord, VERSION};
use randflake_lease::{
    AcquireRequest, Grant, NodeIds, QuarantineCause, StoreError, Token, Upgrade,
};

use super::world::{PLACES, TTL, World, acquire};

fn lease(world: &mut World, node_id: u32, ttl: u64) -> Grant {
    let acquired = world.store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::These(&[node_id]),
        ttl,
    });
    acquired.unwrap().grants[0]
}

/// An engine that keeps a mark beside its records waits until then after a loss.
#[test]
fn a_write_tells_the_latest_end_of_its_leases() {
    let mut world = World::new(3, 0.0, 1);
    let leases = [lease(&mut world, 1, TTL), lease(&mut world, 2, TTL / 2)];
    // The end of the first one stays, and is written again.
    let renewed = world.store.renew(&leases, TTL / 2 + 1).unwrap();
    let ends: Vec<u64> = renewed.ends.into_iter().map(Result::unwrap).collect();
    assert!(ends[1] < ends[0], "{ends:?}");
    let told = world.map.state().latest_end_unix_ms;
    assert_eq!(told, world.namespace.spec().unix_ms(ends[0]));
}

/// A confirmation makes a write of a repetition, and is put nowhere else.
#[test]
fn a_write_that_repeats_nothing_confirms_nothing() {
    let mut world = World::new(12, 0.0, 1);
    lease(&mut world, 1, TTL);
    world.store.administration().start_quarantine().unwrap();
    let texts = &world.map.state().texts;
    assert!(!texts.contains_key(&Key::Hint(PLACES)));
}

/// A counter that another client has moved since it was read is read again.
#[test]
fn numbers_reserved_meanwhile_are_not_answered() {
    let mut world = World::new(3, 0.0, 1);
    world.store.counter().create().unwrap();
    world.store.counter().reserve(1).unwrap();
    let before = world.map.state().texts.clone();
    let theirs = world
        .map
        .open(&world.namespace)
        .counter()
        .reserve(10)
        .unwrap();
    {
        let mut state = world.map.state();
        let after = core::mem::replace(&mut state.texts, before);
        state.meanwhile = Some((after, state.now));
    }
    let ours = world.store.counter().reserve(10).unwrap();
    assert!(
        ours.first() >= theirs.first() + 10,
        "{ours:?} after {theirs:?}"
    );
}

#[test]
fn creating_an_existing_counter_writes_nothing() {
    let mut world = World::new(3, 0.0, 1);
    world.store.counter().create().unwrap();
    let writes = world.map.state().writes;
    world.store.counter().create().unwrap();
    assert_eq!(world.map.state().writes, writes);
}

/// The record is gone and leases are there: the namespace is not new, whatever the engine says, and
/// whichever node id is asked for.
#[test]
fn a_namespace_without_record_that_has_leases_is_lost() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 1, TTL);
    world.map.state().texts.remove(&Key::Namespace);
    let mut newcomer = world.map.open(&world.namespace);
    let refused = acquire(&mut newcomer, NodeIds::These(&[2])).unwrap_err();
    assert!(
        matches!(refused, StoreError::Quarantined { .. }),
        "{refused}"
    );
    // An operator may end it if nothing was ever leased, which is looked at once more.
    let quarantine = newcomer
        .administration()
        .current_quarantine()
        .unwrap()
        .unwrap();
    assert_eq!(quarantine.cause, QuarantineCause::New);
    let refused = newcomer.administration().end_quarantine().unwrap_err();
    assert!(matches!(refused, StoreError::NotNew(_)), "{refused}");
}

/// Others need not search it once more.
#[test]
fn vain_search_is_noted_with_a_fingerprint() {
    let world = World::new(12, 1.0, 1);
    let is_hint = |key: &Key| matches!(key, Key::Hint(_));
    {
        let mut state = world.map.state();
        state.texts.retain(|key, _| !is_hint(key));
        "one".clone_into(&mut state.fingerprint);
        let text = &state.texts[&Key::Namespace];
        let mut record = NamespaceRecord::from_text(text, VERSION).unwrap();
        "one".clone_into(&mut record.fingerprint);
        state.texts.insert(Key::Namespace, record.to_text());
    }
    let mut newcomer = world.map.open(&world.namespace);
    let refused = acquire(&mut newcomer, NodeIds::Any(1)).unwrap_err();
    assert!(matches!(refused, StoreError::Exhausted { .. }), "{refused}");
    assert!(world.map.state().texts.keys().any(is_hint));
}

/// An older program acquires after the upgrade has looked for such leases and before it is
/// announced.
#[test]
fn an_upgrade_looks_for_older_holders_once_more() {
    let mut world = World::new(3, 0.0, 1);
    *world.store.internals().unwrap().1 = VERSION + 1;
    let before = world.map.state().texts.clone();
    acquire(&mut world.map.open(&world.namespace), NodeIds::These(&[5])).unwrap();
    {
        let mut state = world.map.state();
        let node = state.texts[&Key::Node(5)].clone();
        let older = NodeRecord::from_text(5, &node, VERSION).unwrap();
        assert_eq!(older.knows, VERSION);
        let mut after = before.clone();
        after.insert(Key::Node(5), node);
        state.texts = before;
        state.meanwhile = Some((after, state.now));
    }
    let outcome = world
        .store
        .administration()
        .upgrade_namespace(false)
        .unwrap();
    let Upgrade::OlderHolders { holders, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(holders[0].grant.node_id, 5);
    // And it is withdrawn: older programs may acquire again.
    acquire(&mut world.map.open(&world.namespace), NodeIds::These(&[6])).unwrap();
}

#[test]
fn a_second_upgrade_reads_the_namespace_alone() {
    let mut world = World::new(3, 0.0, 1);
    *world.store.internals().unwrap().1 = VERSION + 1;
    let version = VERSION + 1;
    let first = world
        .store
        .administration()
        .upgrade_namespace(false)
        .unwrap();
    assert_eq!(
        first,
        Upgrade::Done {
            before: VERSION,
            version
        }
    );
    let counts = |world: &World| {
        let state = world.map.state();
        (state.reads, state.lists.len(), state.writes)
    };
    let (reads, lists, writes) = counts(&world);
    let again = world
        .store
        .administration()
        .upgrade_namespace(false)
        .unwrap();
    let before = version;
    assert_eq!(again, Upgrade::Done { before, version });
    assert_eq!(counts(&world), (reads + 1, lists, writes));
}
