//! Records of version 1, which later versions read and write again unchanged; and what writes
//! consist of.

use core::time::Duration;

use randflake_core::{KeyNumber, Layout, Randflake};
use randflake_lease::unstable::rules::{
    CounterRecord, DeviceRecord, HistoryLink, Key, NamespaceRecord, NodeRecord, SecretClaim,
    VERSION,
};
use randflake_lease::{
    AcquireRequest, Grant, KeyCheck, NodeIds, QuarantineCause, StoreError, Token, Upgrade,
};

use super::world::{PLACES, TTL, World, acquire};

const FIRST: u8 = 1;
const TOKEN: u128 = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;

fn node(text: &str) -> NodeRecord {
    let record = NodeRecord::from_text(7, text, FIRST).unwrap();
    assert_eq!(record.to_text(), text);
    let lease = (record.node_id, record.start, record.end);
    assert_eq!(
        (lease, record.token),
        ((7, 1_000, 1_060), Token::from_bytes(TOKEN.to_be_bytes()))
    );
    record
}

#[test]
fn leases() {
    let first = node("11:tg:h1:1o:0:1:2fapl4n1azs5kkwzrxa98bn3:7:0:rs:0:h:web-1/42/0a0b0c0d");
    assert_eq!(
        (first.fencing_token, first.serial, first.nonce),
        (1_000, 1, 7)
    );
    assert_eq!(
        (first.held, first.contested, first.past),
        (true, false, HistoryLink::default())
    );
    assert_eq!(
        (&*first.holder, first.capabilities, &*first.form.tail),
        ("web-1/42/0a0b0c0d", 1, "")
    );

    // With a tail, by a holder that knows a later version.
    let later = node(
        "21:tg:c2:1o:2:z:2fapl4n1azs5kkwzrxa98bn3:3w5e11264sgsf:c:5:f5lxx1zz5pnorynqglhzmsp33:6:a:b:é:later:1:x",
    );
    assert_eq!(
        (later.fencing_token, later.serial, later.nonce),
        (1_002, 35, u64::MAX)
    );
    let past = HistoryLink {
        count: 12,
        end: 995,
        hash: u128::MAX,
    };
    assert_eq!(
        (later.held, later.contested, later.past),
        (true, true, past)
    );
    assert_eq!(
        (&*later.holder, later.capabilities, &*later.form.tail),
        ("a:b:é", 2, ":later:1:x")
    );

    for (text, contested, holder) in [
        (
            "11:tg:r1:1o:0:10:2fapl4n1azs5kkwzrxa98bn3:1:1:a:5:0:",
            false,
            "",
        ),
        (
            "11:tg:b1:1o:0:10:2fapl4n1azs5kkwzrxa98bn3:1:1:a:5:2:x:",
            true,
            "x:",
        ),
    ] {
        let released = node(text);
        assert_eq!(
            (released.held, released.contested, &*released.holder),
            (false, contested, holder)
        );
    }
}

#[test]
fn namespaces() {
    let text = "11:11:30@34,17@17,17@0,1730000000000,1000,60000,0a0b0c0d:1y2p0ij32e8e8:14:0-0-n:9:cluster 1:6:run:42";
    let record = NamespaceRecord::from_text(text, FIRST).unwrap();
    assert_eq!(record.to_text(), text);
    assert_eq!((record.versions.written, record.versions.holder), (1, 1));
    assert_eq!(record.terms.spec.fields(), Randflake::SPEC.fields());
    assert_eq!(
        (record.terms.key_check, record.terms.max_ttl()),
        (Some(KeyCheck::Key(0x0a0b_0c0d)), Duration::from_secs(60))
    );
    assert_eq!(
        (record.namespace_nonce, record.writes, &*record.fingerprint),
        (1 << 63, 40, "run:42")
    );
    assert_eq!(record.identity, "cluster 1");

    let numbers = text.replace("0a0b0c0d", "53-0a0b0c0d");
    let record = NamespaceRecord::from_text(&numbers, FIRST).unwrap();
    assert_eq!(record.terms.key_check, Some(KeyCheck::Key53(0x0a0b_0c0d)));
    assert_eq!(record.to_text(), numbers);
    let tagged = text.replace("0a0b0c0d", "tag-17-0a0b0c0d");
    let record = NamespaceRecord::from_text(&tagged, FIRST).unwrap();
    let key_check = KeyCheck::Tagged {
        number: KeyNumber::new(17).unwrap(),
        check: 0x0a0b_0c0d,
    };
    assert_eq!(record.terms.key_check, Some(key_check));
    assert_eq!(record.to_text(), tagged);
    for unknown in [
        "60-0a0b0c0d",
        "tag-0a0b0c0d",
        "tag-0-0a0b0c0d",
        "tag-64-0a0b0c0d",
    ] {
        let unknown = text.replace("0a0b0c0d", unknown);
        assert!(NamespaceRecord::from_text(&unknown, FIRST).is_err());
    }

    let text = "21:12:39@20,10@10,10@0,1288834974657,1,60000,plain:1:2:3uw-334-x:0::0::more";
    let dropped = NamespaceRecord::from_text(text, FIRST).unwrap();
    assert_eq!(dropped.to_text(), text);
    assert_eq!((dropped.versions.written, dropped.versions.holder), (1, 2));
    assert_eq!((dropped.quarantine, dropped.reason.since), (5_000, 4_000));
    assert_eq!(
        (dropped.reason.cause, dropped.reason.is_dropped),
        (QuarantineCause::Dropped, true)
    );
    assert_eq!((&*dropped.fingerprint, &*dropped.form.tail), ("", ":more"));
}

#[test]
fn counters_devices_and_claims() {
    let text = "11:rt:9:7:6:run:42:1:1:0:";
    let counter = CounterRecord::from_text(text, FIRST).unwrap();
    assert_eq!(
        (
            counter.next,
            counter.counter_nonce,
            counter.nonce,
            &*counter.vouched,
            &*counter.to_text()
        ),
        (1_001, 9, 7, "run:42", text)
    );

    for (terms, words) in [
        ("from 2 in steps of 5", "2:5:0:"),
        ("anew each day (UTC), with 6 digits", "1:1:9:day 6 UTC"),
        (
            "anew each month (+05:30), with 4 digits",
            "1:1:e:month 4 +05:30:later",
        ),
    ] {
        let text = format!("11:rt:9:7:6:run:42:{words}");
        let counter = CounterRecord::from_text(&text, FIRST).unwrap();
        assert_eq!(
            (&*counter.terms.to_string(), &*counter.to_text()),
            (terms, &*text)
        );
    }
    for damaged in [
        "",
        ":1:0:0:",
        ":1:1",
        ":2:1:9:day 6 UTC",
        ":1:1:a:day 6 UTC",
    ] {
        let text = format!("11:rt:9:7:6:run:42{damaged}");
        assert!(CounterRecord::from_text(&text, FIRST).is_err(), "{text}");
    }

    let text = "11:rx:7:8:shop:a@b:t";
    let device = DeviceRecord::from_text(text, FIRST).unwrap();
    assert_eq!(
        (device.device.last_counter, &*device.device.owner),
        (1_005, "shop:a@b")
    );
    assert_eq!((&*device.form.tail, &*device.to_text()), (":t", text));

    for (text, database) in [("11:orders:", None), ("11:orders:1", Some(1))] {
        let claim = SecretClaim::from_text(text, FIRST).unwrap();
        assert_eq!((&*claim.namespace, claim.database), ("orders", database));
        assert_eq!(claim.to_text(), text);
    }
}

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
        assert_eq!(older.capabilities, VERSION);
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
