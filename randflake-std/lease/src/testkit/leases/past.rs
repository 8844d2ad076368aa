//! History of the leases of a node id.

use crate::store::LeaseStore;
use crate::types::{AcquireRequest, Explanation, Grant, History, NodeIds, PastLease};

use super::{Backend, TTL, eight, patiently, ticks, token};

const NODE: u32 = 5;

fn lease(store: &mut LeaseStore, number: u128, holder: &str) -> Grant {
    let request = AcquireRequest {
        token: token(number),
        holder,
        nodes: NodeIds::These(&[NODE]),
        ttl: TTL,
    };
    patiently(|| store.acquire(&request)).unwrap().grants[0]
}

fn history(store: &mut LeaseStore) -> History {
    let history = patiently(|| store.history().read(NODE..=NODE)).unwrap();
    assert_eq!(history.gaps(), []);
    history
}

fn holder(history: &History, tick: u64) -> String {
    match history.explain(NODE, tick) {
        Explanation::Held(lease) => lease.record.holder,
        other => panic!("{tick}: {other:?}"),
    }
}

pub fn the_history_says_who_held_a_node_id(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let first = lease(&mut store, 1, "released");
    backend.pass(ticks(10));
    let end = patiently(|| store.renew(&[first], TTL)).unwrap().ends[0].unwrap();
    assert_eq!(end, first.end + 10);
    let used = Grant {
        end: first.start + 7,
        ..first
    };
    patiently(|| store.release(&[used])).unwrap();
    let second = lease(&mut store, 2, "renewed");
    backend.pass(ticks(10));
    let end = patiently(|| store.renew(&[second], TTL)).unwrap().ends[0].unwrap();
    backend.pass(ticks(2 * TTL));
    let mut another = backend.open(&eight("orders")).unwrap();
    let third = lease(&mut another, 3, "another");

    for store in [&mut store, &mut another] {
        let history = history(store);
        let leases: Vec<&PastLease> = history.leases().collect();
        let ends: Vec<_> = leases.iter().map(|lease| lease.record.grant.end).collect();
        assert_eq!(ends, [used.end, end, third.end]);
        let released: Vec<_> = leases.iter().map(|lease| lease.is_released).collect();
        assert_eq!(released, [true, false, false]);
        let starts: Vec<_> = leases
            .iter()
            .map(|lease| lease.record.grant.start)
            .collect();
        assert_eq!(starts, [first.start, second.start, third.start]);
        for (range, name) in [
            (used.start..used.end, "released"),
            (second.start..end, "renewed"),
            (third.start..third.end, "another"),
        ] {
            for tick in range {
                assert_eq!(holder(&history, tick), name, "{tick}");
            }
        }
        for tick in (used.end..second.start).chain(end..third.start) {
            assert_eq!(history.explain(NODE, tick), Explanation::Nobody, "{tick}");
        }
        // So it is without the rest of the history.
        for tick in [used.start, second.start - 1, second.start, third.start] {
            let explained = patiently(|| store.history().explain(NODE, tick)).unwrap();
            assert_eq!(explained.explanation, history.explain(NODE, tick), "{tick}");
            assert_eq!(explained.gap, None);
        }
    }
    // The store's other node ids have no part in it.
    let all = patiently(|| store.history().read(0..=u32::MAX)).unwrap();
    assert_eq!(all.leases().count(), 3);
    assert_eq!(all.explain(NODE + 1, second.start), Explanation::Nobody);
}

pub fn a_tick_that_nobody_held_is_told(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = lease(&mut store, 1, "holder");
    let told = history(&mut store);
    assert_eq!(holder(&told, grant.end - 1), "holder");
    assert_eq!(told.explain(NODE, grant.end + 60), Explanation::Ahead);

    // What was granted before, a store that has lost its memory does not say.
    backend.lose_memory();
    store.administration().create_namespace().unwrap();
    let wait = store.administration().start_quarantine().unwrap();
    backend.pass(wait);
    let later = lease(&mut store, 2, "later");
    let told = history(&mut store);
    assert_eq!(holder(&told, later.start), "later");
    let outcome = told.explain(NODE + 1, grant.start - 1);
    assert!(
        matches!(outcome, Explanation::Unknown { known_from, .. } if known_from >= grant.start),
        "{outcome:?}"
    );
    assert_eq!(told.explain(NODE + 1, later.start), Explanation::Nobody);
}
