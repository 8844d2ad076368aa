//! Namespaces of any size, however full they are.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::postgres::PostgresServer;
use randflake_core::LayoutSpec;
use randflake_core::{Field, LayoutFields};
use randflake_lease::{Namespace, StoreError};
use randflake_postgres::PostgresStore;

use crate::{acquire, namespace, open, open_at, unused};

/// With the same epoch and ticks of a second.
fn with_node_bits(bits: u32) -> Namespace {
    let rest = 33 - bits;
    let layout = LayoutSpec::new(LayoutFields {
        timestamp: Field {
            bits: 30,
            shift: 33,
        },
        node_id: Field { bits, shift: rest },
        sequence: Field {
            bits: rest,
            shift: 0,
        },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1_000,
    });
    let namespace = Namespace::new("orders", layout.unwrap()).unwrap();
    namespace.with_max_ttl(Duration::from_secs(300))
}

/// The shortest of some: a busy machine makes any of them long.
fn shortest(mut operation: impl FnMut()) -> Duration {
    let spans = (0..20).map(|_| {
        let begun = Instant::now();
        operation();
        begun.elapsed()
    });
    spans.min().unwrap()
}

/// A row for each node id would take minutes to make, or hours.
#[test]
fn large_namespace_opens_without_making_node_ids() {
    let server = PostgresServer::start();
    let url = server.url("postgres");
    for (bits, count) in [(22, 1), (32, 3)] {
        let forget = "DROP SCHEMA IF EXISTS randflake CASCADE";
        server.client("postgres").batch_execute(forget).unwrap();
        let mut store = PostgresStore::open(&url, &with_node_bits(bits)).unwrap();
        store.administration().end_quarantine().unwrap();
        let grants = acquire(&mut store, count).unwrap();
        store.release(&grants).unwrap();
        assert_eq!(store.list().unwrap().len(), count as usize);
    }
}

/// All node ids are taken, which leaves the search nothing but a run of taken ones.
#[test]
fn a_full_namespace_is_quick() {
    let server = PostgresServer::start();
    let mut store = open(&server);
    let all = u32::try_from(namespace().node_ids()).unwrap();
    let mut taken = Vec::new();
    while taken.len() + 1 < all as usize {
        // As many as a busy machine grants in time.
        let count = (all - 1 - u32::try_from(taken.len()).unwrap()).min(8_192);
        taken.extend(acquire(&mut store, count).unwrap());
    }
    let last = acquire(&mut store, 1).unwrap()[0];

    let refusal = shortest(|| {
        let refused = acquire(&mut store, 1);
        let Err(StoreError::Exhausted { retry_in }) = refused else {
            panic!("{refused:?}")
        };
        assert!(retry_in <= Duration::from_secs(300), "{retry_in:?}");
    });

    store.release(&[unused(last)]).unwrap();
    let again = shortest(|| {
        let grant = acquire(&mut store, 1).unwrap()[0];
        assert_eq!(grant.node_id, last.node_id);
        store.release(&[unused(grant)]).unwrap();
    });
    // Which reads all of them.
    let begun = Instant::now();
    assert_eq!(store.list().unwrap().len(), all as usize);
    let listed = begun.elapsed();
    for (what, span) in [("a refusal", refusal), ("an acquire", again)] {
        assert!(span < listed / 2, "{what}: {span:?}, a list: {listed:?}");
    }
    let renewed = store.renew(&taken[..1_000], 300).unwrap().ends;
    assert!(renewed.iter().all(Result::is_ok));
}

/// While another transaction keeps a snapshot from before all of it.
#[test]
fn old_snapshots_do_not_hurt() {
    let server = PostgresServer::start();
    let mut store = open(&server);
    let mut other = server.client("postgres");
    let keep = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM randflake.record";
    other.batch_execute(keep).unwrap();
    acquire(&mut store, 1_000).unwrap();
    let mut take_and_release = || {
        let grants = acquire(&mut store, 1).unwrap();
        store.renew(&grants, 300).unwrap();
        store.release(&[unused(grants[0])]).unwrap();
    };
    let before = shortest(&mut take_and_release);
    for _ in 0..400 {
        take_and_release();
    }
    let after = shortest(&mut take_and_release);
    assert!(after < before * 10, "{before:?} became {after:?}");
    other
        .batch_execute("SELECT count(*) FROM randflake.record; COMMIT")
        .unwrap();
}

/// A note says until when all is leased, so that a full namespace is refused by it alone.
#[test]
fn full_namespace_finds_what_is_released() {
    let server = PostgresServer::start();
    let url = server.url("postgres");
    let mut store = open_at(&url, &with_node_bits(10));
    let grants = acquire(&mut store, 1_024).unwrap();
    let first_end = grants.iter().map(|grant| grant.end).min().unwrap();
    let mut client = server.client("postgres");
    // Places 8 to 15 are those of notes.
    let mut noted = || {
        let question =
            "SELECT split_part(value, ':', 1) FROM randflake.record WHERE kind = 4 AND number >= 8";
        let notes = client.query(question, &[]).unwrap();
        let ends = notes
            .iter()
            .map(|note| u64::from_str_radix(note.get(0), 36));
        ends.collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert_eq!(noted(), Vec::<u64>::new());
    assert!(acquire(&mut store, 1).is_err());
    assert_eq!(noted(), [first_end]);

    store.release(&[unused(grants[700])]).unwrap();
    let again = acquire(&mut store, 1).unwrap()[0];
    assert_eq!(again.node_id, grants[700].node_id);
    assert!(acquire(&mut store, 1).is_err());
    assert_eq!(noted(), [first_end]);
}

/// Who looks in vain must not note what somebody else has just released.
#[test]
fn nothing_is_lost_between_a_release_and_a_note() {
    const FREE: u32 = 2;
    let server = PostgresServer::start();
    let url = server.url("postgres");
    let namespace = with_node_bits(8);
    let client = || open_at(&url, &namespace);
    let all = u32::try_from(namespace.node_ids()).unwrap();
    acquire(&mut client(), all - FREE).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut store = client();
                for _ in 0..100 {
                    match acquire(&mut store, 1) {
                        Ok(grants) => store.release(&[unused(grants[0])]).unwrap(),
                        Err(StoreError::Exhausted { .. } | StoreError::Unavailable(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(acquire(&mut client(), FREE).unwrap().len(), 2);
}
