//! Acquires: grants and refusals.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use crate::store::LeaseStore;
use crate::types::KeyCheck;
use crate::types::{AcquireRequest, DEFAULT_MAX_TTL, Grant, Namespace, NodeIds, StoreError, Token};
use randflake_core::{KeyNumber, Layout, LayoutSpec, Randflake, Snowflake};

use super::{
    Backend, Eight, TTL, acquire, acquire_one, acquire_some, eight, patiently, tick_at, ticks,
    token,
};
use crate::testkit::referee::Referee;

fn node_ids(grants: &[Grant]) -> BTreeSet<u32> {
    grants.iter().map(|grant| grant.node_id).collect()
}

pub fn a_grant_begins_now(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    assert_eq!(store.namespace(), &eight("orders"));
    assert_eq!(store.list().unwrap(), []);

    let acquired = acquire(&mut store, 1, 1).unwrap();
    let [grant] = acquired.grants[..] else {
        panic!("one was asked for: {acquired:?}")
    };
    let now = tick_at(acquired.now);
    assert_eq!(
        (grant.start, grant.end, grant.token),
        (now, now + TTL, token(1))
    );
    assert!(grant.node_id < 8);

    let records = store.list().unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].grant, &*records[0].holder), (grant, "holder"));
}

pub fn several_node_ids_at_once(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let first = acquire(&mut store, 1, 3).unwrap().grants;
    let second = acquire(&mut store, 2, 5).unwrap().grants;
    let all = [&first[..], &second].concat();
    assert_eq!((first.len(), second.len()), (3, 5));
    assert!(first.is_sorted_by_key(|grant| grant.node_id));
    assert!(second.is_sorted_by_key(|grant| grant.node_id));
    assert!(node_ids(&all).into_iter().eq(0..8));

    let records = store.list().unwrap();
    for (first, most) in [
        (0_usize, 3_usize),
        (5, 2),
        (5, 3),
        (7, usize::MAX),
        (0, 0),
        (8, 1),
    ] {
        let part = &records[first..records.len().min(first.saturating_add(most))];
        let first = u32::try_from(first).unwrap();
        assert_eq!(
            store.list_from(first, most).unwrap(),
            part,
            "{most} from {first}"
        );
    }
}

pub fn all_or_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    acquire(&mut store, 1, 3).unwrap();
    backend.pass(ticks(10));
    acquire(&mut store, 2, 3).unwrap();
    let before = store.list().unwrap();

    // Two are free; for a third the first lease has to end.
    let refused = acquire(&mut store, 3, 3).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    let rest = ticks(TTL - 10);
    assert!(
        retry_in + ticks(1) > rest && retry_in <= rest,
        "{retry_in:?}"
    );
    assert_eq!(store.list().unwrap(), before);

    // For a sixth a lease of the second acquire has to.
    let refused = acquire(&mut store, 3, 6).unwrap_err();
    let StoreError::Exhausted { retry_in: longer } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(longer, retry_in + ticks(10));

    backend.pass(retry_in);
    assert_eq!(acquire(&mut store, 3, 5).unwrap().grants.len(), 5);
    assert!(acquire(&mut store, 4, 1).is_err());
}

pub fn node_ids_are_used_again(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    for round in 1..=5 {
        for node in 0..8 {
            let grant = acquire_one(&mut store, round * 8 + node);
            referee.granted(&[grant]);
        }
        backend.pass(ticks(TTL));
    }
    assert_eq!(referee.intervals(), 40);
}

pub fn what_cannot_be_granted_is_refused(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let most = store.namespace().ticks(store.namespace().max_ttl());
    let ask = |count, ttl| AcquireRequest {
        token: token(1),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl,
    };
    for (count, ttl) in [
        (0, 1),
        (9, 1),
        (u32::MAX, 1),
        (1, 0),
        (1, most + 1),
        (1, u64::MAX),
    ] {
        let refused = store.acquire(&ask(count, ttl));
        assert!(
            matches!(refused, Err(StoreError::Invalid(_))),
            "{refused:?}"
        );
    }
    let longest = "x".repeat(128);
    for holder in ["a\nb", "\u{1b}[2J", "\u{9b}", &format!("{longest}x")] {
        let refused = store.acquire(&AcquireRequest {
            holder,
            ..ask(1, 1)
        });
        assert!(
            matches!(refused, Err(StoreError::Invalid(_))),
            "{refused:?}"
        );
    }
    let longest = AcquireRequest {
        holder: &longest,
        ..ask(1, most)
    };
    let grants = store.acquire(&longest).unwrap().grants;
    for ttl in [0, most + 1] {
        let refused = store.renew(&grants, ttl);
        assert!(
            matches!(refused, Err(StoreError::Invalid(_))),
            "{refused:?}"
        );
    }
}

pub fn namespaces_do_not_meet(backend: &impl Backend) {
    let mut orders = backend.open(&eight("orders")).unwrap();
    let mut users = backend.open(&eight("users")).unwrap();
    let grants = acquire(&mut orders, 1, 8).unwrap().grants;
    let others = acquire(&mut users, 1, 8).unwrap().grants;
    assert_eq!(node_ids(&grants), node_ids(&others));

    let released = Grant {
        end: others[0].start,
        ..others[0]
    };
    users.release(&[released]).unwrap();
    users.administration().start_quarantine().unwrap();
    assert!(acquire(&mut orders, 2, 1).is_err());
    assert!(
        orders
            .list()
            .unwrap()
            .iter()
            .all(|record| record.grant.end == grants[0].end)
    );
    backend.pass(ticks(TTL));
    acquire(&mut orders, 2, 8).unwrap();
    assert!(matches!(
        acquire(&mut users, 2, 1),
        Err(StoreError::Quarantined { .. })
    ));
}

/// What is asked for in other terms is refused, whatever it is called, and nothing is changed.
pub fn a_namespace_keeps_its_terms(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    store.set_key_check(KeyCheck::Key(7));
    let grant = acquire_one(&mut store, 1);
    let refused = |error: StoreError, what: &str| {
        assert!(matches!(error, StoreError::Terms { .. }), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    };
    let layout = Namespace::new("orders", Snowflake).unwrap();
    refused(backend.open(&layout).unwrap_err(), "other terms");
    // As many node ids, the same epoch and tick.
    let mut fields = Eight::SPEC.fields();
    (fields.node_id.shift, fields.sequence.shift) = (0, 3);
    let layout = LayoutSpec::new(fields).unwrap();
    let layout = Namespace::new("orders", layout).unwrap();
    refused(backend.open(&layout).unwrap_err(), "node id 3 bits at 0");
    let shorter = eight("orders").with_max_ttl(ticks(2));
    refused(backend.open(&shorter).unwrap_err(), "longest TTL 2s");
    let tagged = KeyCheck::Tagged {
        number: KeyNumber::MIN,
        check: 7,
    };
    for key_check in [
        KeyCheck::Key(8),
        KeyCheck::Key53(7),
        KeyCheck::Plain,
        tagged,
    ] {
        let mut other = backend.open(&eight("orders")).unwrap();
        other.set_key_check(key_check);
        let error = acquire(&mut other, 2, 1).unwrap_err();
        let (stored, asked) = match key_check {
            KeyCheck::Plain => (
                "ids of 64 bits, the secret of check value 00000007",
                "plain ids, no secret",
            ),
            KeyCheck::Key(_) => (
                "the secret of check value 00000007",
                "the secret of check value 00000008",
            ),
            KeyCheck::Key53(_) => ("ids of 64 bits", "ids of 53 bits"),
            KeyCheck::Tagged { .. } => ("ids of 64 bits", "tagged UUIDs under key number 1"),
        };
        refused(
            error,
            &format!("stored with {stored}, and opened with {asked}"),
        );
    }
    let mut other = backend.open(&eight("orders")).unwrap();
    other.set_key_check(KeyCheck::Key(7));
    acquire_one(&mut other, 2);
    assert_eq!(store.renew(&[grant], TTL).unwrap().ends, [Ok(grant.end)]);
    assert_eq!(store.list().unwrap().len(), 2);
}

/// The longest TTL is a term as the layout is: a client that leases without
/// naming it means the default one. A client that leases nothing takes the stored one.
pub fn a_longest_ttl_that_is_not_named_is_the_default_one(backend: &impl Backend) {
    let hour = eight("orders").with_max_ttl(Duration::from_secs(3_600));
    let mut store = backend.open(&hour).unwrap();
    let grant = acquire_one(&mut store, 1);
    let mut other = backend.open(&eight("orders")).unwrap();
    for refused in [
        acquire(&mut other, 2, 1).map(drop),
        other.renew(&[grant], TTL).map(drop),
        other.administration().create_namespace().map(drop),
        other.administration().end_quarantine(),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
        let message = refused.to_string();
        assert!(message.contains("stored with longest TTL 1h"), "{message}");
        assert!(message.contains("opened with longest TTL 1m"), "{message}");
    }
    assert_eq!(other.list().unwrap().len(), 1);
    assert_eq!(other.administration().current_quarantine().unwrap(), None);
    other.administration().diagnose().unwrap();
    assert!(other.administration().start_quarantine().unwrap() > Duration::from_secs(3_600));
    other.administration().override_quarantine().unwrap();
    other.release(&[grant]).unwrap();
    other.administration().drop_namespace().unwrap();

    // A default that is named is the same as one that is not.
    let mut store = backend.open(&eight("default")).unwrap();
    acquire_one(&mut store, 1);
    let named = eight("default").with_max_ttl(DEFAULT_MAX_TTL);
    acquire_one(&mut backend.open(&named).unwrap(), 2);
}

/// Who chooses and who takes any exclude each other.
pub fn a_chosen_node_id_is_leased_from_the_same_records(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let choose = |store: &mut LeaseStore, chosen: &[u32]| {
        store.acquire(&AcquireRequest {
            token: Token::random().unwrap(),
            holder: "chooser",
            nodes: NodeIds::These(chosen),
            ttl: TTL,
        })
    };
    let chosen = choose(&mut store, &[5, 2]).unwrap().grants;
    assert_eq!(node_ids(&chosen), [2, 5].into());
    backend.pass(ticks(10));
    let free = acquire(&mut store, 1, 6).unwrap().grants;
    assert!(node_ids(&free).is_disjoint(&node_ids(&chosen)));
    assert!(matches!(
        acquire(&mut store, 2, 1),
        Err(StoreError::Exhausted { .. })
    ));

    // Both or none, and until when they are taken.
    let refused = choose(&mut store, &[5, 3]).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(
        retry_in <= ticks(TTL) && retry_in + ticks(1) > ticks(TTL),
        "{retry_in:?}"
    );
    backend.pass(ticks(TTL - 10));
    assert!(choose(&mut store, &[5, 3]).is_err());
    let again = choose(&mut store, &[5]).unwrap().grants[0];
    assert!(again.start >= chosen[1].end);
    for not_so in [&[8][..], &[u32::MAX], &[4, 4]] {
        let refused = choose(&mut store, not_so);
        assert!(
            matches!(refused, Err(StoreError::Invalid(_))),
            "{refused:?}"
        );
    }
}

pub fn a_nearly_full_namespace_works_as_an_empty_one(backend: &impl Backend) {
    let namespace = backend.filled();
    let all = u32::try_from(namespace.node_ids()).unwrap();
    assert!(
        all >= 4_096,
        "Backend::filled has {all} node ids: 4,096 or more are needed"
    );
    let mut store = backend.open(&namespace).unwrap();
    let (mut taken, mut last) = (BTreeSet::new(), Vec::new());
    let mut number = 0;
    for up_to in [0, all / 2, all - all / 100, all - all / 1_000, all - 1] {
        let mut missing = up_to - u32::try_from(taken.len()).unwrap();
        while missing > 0 {
            let count = missing.min(backend.at_once());
            number += 1;
            taken.extend(node_ids(&acquire_some(&mut store, number, count)));
            missing -= count;
        }
        number += 1;
        let grant = acquire_one(&mut store, number);
        assert!(
            !taken.contains(&grant.node_id),
            "{grant:?} at {up_to} taken"
        );
        taken.insert(grant.node_id);
        last.push(Grant {
            end: grant.start,
            ..grant
        });
    }
    let mut other = backend.open(&namespace).unwrap();
    refuses(&mut store, number + 1);
    // What is released is found by others, once.
    for count in [3, 2] {
        last.truncate(count);
        store.release(&last).unwrap();
        let found: Vec<_> = (0..count)
            .map(|_| {
                number += 1;
                acquire_one(&mut other, number)
            })
            .collect();
        assert_eq!(node_ids(&found), node_ids(&last));
        refuses(&mut store, number + 1);
        refuses(&mut other, number + 2);
        number += 2;
        let unused = found.iter().map(|grant| Grant {
            end: grant.start,
            ..*grant
        });
        last = unused.collect();
        core::mem::swap(&mut store, &mut other);
    }
}

/// All is leased, for a TTL at most.
fn refuses(store: &mut LeaseStore, number: u128) {
    let refused = acquire(store, number, 1).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > Duration::ZERO && retry_in <= Duration::from_secs(TTL));
}

pub fn many_clients_at_once(backend: &impl Backend) {
    const CLIENTS: u32 = 16;
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| patiently(|| backend.open(&namespace)).unwrap())
        .enumerate()
        .collect();
    let grants = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|(client, mut store): (usize, LeaseStore)| {
                scope.spawn(move || {
                    let numbers = (0..8).map(|n| (client as u128) << 64 | n);
                    let grants = numbers.map(|n| acquire_one(&mut store, n));
                    grants.collect::<Vec<_>>()
                })
            })
            .collect();
        let grants = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        grants.collect::<Vec<_>>()
    });
    let mut referee = Referee::default();
    referee.granted(&grants);
    assert_eq!(node_ids(&grants).len(), CLIENTS as usize * 8);
}
