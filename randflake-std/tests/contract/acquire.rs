//! What an acquire grants, and what it refuses.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use randflake_std::lease::{AcquireRequest, Grant, LeaseStore, Namespace, StoreError};
use randflake_std::{Randflake, Snowflake};

use super::referee::Referee;
use super::{Backend, TTL, acquire, acquire_as, acquire_one, eight, tick_at, ticks, token};

fn node_ids(grants: &[Grant]) -> BTreeSet<u32> {
    grants.iter().map(|grant| grant.node_id).collect()
}

pub(crate) fn a_grant_begins_now(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    assert_eq!(store.namespace(), &eight("orders"));
    assert_eq!(store.list().unwrap(), []);

    let acquired = acquire(&mut *store, 1, 1).unwrap();
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

pub(crate) fn several_node_ids_at_once(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let first = acquire(&mut *store, 1, 3).unwrap().grants;
    let second = acquire(&mut *store, 2, 5).unwrap().grants;
    let all = [&first[..], &second].concat();
    assert_eq!((first.len(), second.len()), (3, 5));
    assert!(first.is_sorted_by_key(|grant| grant.node_id));
    assert!(second.is_sorted_by_key(|grant| grant.node_id));
    assert!(node_ids(&all).into_iter().eq(0..8));
}

pub(crate) fn a_repeated_acquire_gets_the_same_grants(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut first = acquire(&mut *store, 1, 2).unwrap().grants;
    backend.pass(ticks(TTL / 2));
    // The repetition may go through another client.
    let mut other = backend.open(&eight("orders")).unwrap();
    let again = acquire(&mut *other, 1, 2).unwrap();
    assert_eq!(again.grants, first);
    assert!(tick_at(again.now) >= first[0].start + TTL / 2);

    let ends = store.renew(&first, TTL).unwrap().ends;
    for (grant, end) in first.iter_mut().zip(ends) {
        grant.end = end.unwrap();
    }
    assert_eq!(acquire(&mut *store, 1, 2).unwrap().grants, first);
    assert_eq!(store.list().unwrap().len(), 2);
}

pub(crate) fn a_repeated_acquire_is_not_for_another_holder(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grants = acquire_as(&mut *store, "original", 1, 2).unwrap().grants;
    let refused = acquire_as(&mut *store, "copy", 1, 2);
    assert!(matches!(refused, Err(StoreError::Foreign)), "{refused:?}");
    let again = acquire_as(&mut *store, "original", 1, 2).unwrap().grants;
    assert_eq!(again, grants);
}

pub(crate) fn a_token_can_be_used_again_when_its_grants_are_over(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    let mut grants = acquire(&mut *store, 1, 2).unwrap().grants;
    referee.granted(&grants);

    // Released, with ticks that are still to come.
    for grant in &mut grants {
        grant.end = grant.start + TTL / 2;
        referee.released(grant);
    }
    store.release(&grants).unwrap();
    let again = acquire(&mut *store, 1, 2).unwrap().grants;
    referee.granted(&again);
    assert!(node_ids(&again).is_disjoint(&node_ids(&grants)));

    // Over.
    backend.pass(ticks(TTL));
    let later = acquire(&mut *store, 1, 2).unwrap().grants;
    referee.granted(&later);
    assert!(later.iter().all(|grant| grant.start >= again[0].end));

    // One of two is over: the one that is left is not enough, and is let go.
    backend.pass(ticks(TTL - 1));
    store.renew(&later[..1], TTL).unwrap();
    backend.pass(ticks(1));
    let both = acquire(&mut *store, 1, 2).unwrap().grants;
    referee.granted(&both);
    assert!(!node_ids(&both).contains(&later[0].node_id));
    assert_eq!(store.renew(&later, TTL).unwrap().ends, [None; 2]);
    assert_eq!(acquire(&mut *store, 1, 2).unwrap().grants, both);
}

pub(crate) fn all_or_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    acquire(&mut *store, 1, 3).unwrap();
    backend.pass(ticks(10));
    acquire(&mut *store, 2, 3).unwrap();
    let before = store.list().unwrap();

    // Two are free; for a third the first lease has to end.
    let refused = acquire(&mut *store, 3, 3).unwrap_err();
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
    let refused = acquire(&mut *store, 3, 6).unwrap_err();
    let StoreError::Exhausted { retry_in: longer } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(longer, retry_in + ticks(10));

    backend.pass(retry_in);
    assert_eq!(acquire(&mut *store, 3, 5).unwrap().grants.len(), 5);
    assert!(acquire(&mut *store, 4, 1).is_err());
}

pub(crate) fn node_ids_are_used_again(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    for round in 1..=5 {
        for node in 0..8 {
            let grant = acquire_one(&mut *store, round * 8 + node);
            referee.granted(&[grant]);
        }
        backend.pass(ticks(TTL));
    }
    assert_eq!(referee.intervals(), 40);
}

pub(crate) fn what_cannot_be_granted_is_refused(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let most = store.namespace().ticks(store.namespace().max_ttl());
    let ask = |count, ttl| AcquireRequest {
        token: token(1),
        holder: "holder",
        count,
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

pub(crate) fn namespaces_do_not_meet(backend: &impl Backend) {
    let mut orders = backend.open(&eight("orders")).unwrap();
    let mut users = backend.open(&eight("users")).unwrap();
    let grants = acquire(&mut *orders, 1, 8).unwrap().grants;
    let others = acquire(&mut *users, 1, 8).unwrap().grants;
    assert_eq!(node_ids(&grants), node_ids(&others));

    let released = Grant {
        end: others[0].start,
        ..others[0]
    };
    users.release(&[released]).unwrap();
    users.fence().unwrap();
    assert!(acquire(&mut *orders, 2, 1).is_err());
    assert!(
        orders
            .list()
            .unwrap()
            .iter()
            .all(|record| record.grant.end == grants[0].end)
    );
    backend.pass(ticks(TTL));
    acquire(&mut *orders, 2, 8).unwrap();
    assert!(matches!(
        acquire(&mut *users, 2, 1),
        Err(StoreError::Fenced { .. })
    ));
}

pub(crate) fn a_namespace_keeps_its_layout_and_longest_ttl(backend: &impl Backend) {
    let short = eight("orders").with_max_ttl(ticks(TTL));
    backend.open(&short).unwrap();
    let other_layout = backend.open(&Namespace::of::<Snowflake>("orders").unwrap());
    assert!(
        matches!(other_layout, Err(StoreError::Unusable(_))),
        "{other_layout:?}"
    );

    let mut store = backend
        .open(&eight("orders").with_max_ttl(ticks(1_000)))
        .unwrap();
    let grants = acquire(&mut *store, 1, 1).unwrap().grants;
    let too_long = store.renew(&grants, TTL + 1);
    assert!(
        matches!(too_long, Err(StoreError::Invalid(_))),
        "{too_long:?}"
    );
}

pub(crate) fn a_nearly_full_namespace_works_as_an_empty_one(backend: &impl Backend) {
    let namespace = Namespace::of::<Randflake>("orders").unwrap();
    let all = u32::try_from(namespace.node_ids()).unwrap();
    let mut store = backend.open(&namespace).unwrap();
    let mut taken = BTreeSet::new();
    let mut number = 0;
    for up_to in [0, all / 2, all - all / 100, all - all / 1_000, all - 1] {
        let missing = up_to - u32::try_from(taken.len()).unwrap();
        if missing > 0 {
            number += 1;
            taken.extend(node_ids(
                &acquire(&mut *store, number, missing).unwrap().grants,
            ));
        }
        number += 1;
        let grant = acquire_one(&mut *store, number);
        assert!(
            !taken.contains(&grant.node_id),
            "{grant:?} at {up_to} taken"
        );
        taken.insert(grant.node_id);
    }
    let refused = acquire(&mut *store, number + 1, 1).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > Duration::ZERO && retry_in <= Duration::from_secs(TTL));
}

pub(crate) fn many_clients_at_once(backend: &impl Backend) {
    const CLIENTS: u32 = 16;
    let namespace = Namespace::of::<Randflake>("orders").unwrap();
    let clients = (0..CLIENTS).map(|_| backend.open(&namespace).unwrap());
    let clients: Vec<_> = clients.enumerate().collect();
    let grants = thread::scope(|scope| {
        let work = |(client, mut store): (usize, Box<dyn LeaseStore>)| {
            scope.spawn(move || {
                let numbers = (0..8).map(|n| (client as u128) << 64 | n);
                let grants = numbers.map(|n| acquire_one(&mut *store, n));
                grants.collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = clients.into_iter().map(work).collect();
        let grants = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        grants.collect::<Vec<_>>()
    });
    let mut referee = Referee::default();
    referee.granted(&grants);
    assert_eq!(node_ids(&grants).len(), CLIENTS as usize * 8);
}
