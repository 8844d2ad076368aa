//! Renewals of more leases than one write of the engine may have.

use core::time::Duration;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::engine::Profile;
use randflake_std::unstable::rules::{Key, Loss, Write, WriteOutcome};

use super::engine::Map;
use crate::watched::{Watcher, watched};

const BEGIN: Duration = Duration::from_secs(1_800_000_000);
const SECOND: Duration = Duration::from_secs(1);
const TTL: u64 = 60;

/// An engine that writes one node id at a time, in a second each.
#[derive(Debug)]
struct OneByOne(Map);

impl Watcher for OneByOne {
    fn profile(&self, profile: Profile) -> Profile {
        Profile {
            max_batch: 1,
            ..profile
        }
    }

    fn has_written(&mut self, _: &Write, _: WriteOutcome) {
        self.0.state().now += SECOND;
    }
}

fn open(map: &Map) -> LeaseStore {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    watched(map.open(&namespace), OneByOne(map.clone()))
}

fn acquire(store: &mut LeaseStore, count: u32) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: TTL,
    });
    acquired.map(|acquired| acquired.grants)
}

/// Three leases of one process.
fn three() -> (Map, LeaseStore, Vec<Grant>) {
    let map = Map::default();
    map.state().now = BEGIN;
    let mut store = open(&map);
    let grants = (0..3).map(|_| acquire(&mut store, 1).unwrap()[0]);
    let grants = grants.collect();
    (map, store, grants)
}

#[test]
fn an_acquire_is_all_or_nothing_so_it_is_not_split() {
    let (_, mut store, _) = three();
    let refused = acquire(&mut store, 2).unwrap_err();
    assert!(refused.to_string().ends_with("at most 1"), "{refused}");
}

#[test]
fn batched_renewal_answers_for_each_lease() {
    let (map, store, grants) = three();
    // Also where a process has seen nothing of the namespace.
    for mut store in [store, open(&map)] {
        let begun = map.state().now;
        let renewed = store.renew(&grants, TTL).unwrap();
        let ends: Vec<_> = renewed.ends.iter().map(|end| end.unwrap()).collect();
        let first = grants[0].end - grants[0].start;
        assert_eq!(first, TTL);
        let expected = (0..3).map(|nth| {
            let written = begun + nth * SECOND;
            store.namespace().spec().tick_at(written).unwrap() + TTL
        });
        assert_eq!(ends, expected.collect::<Vec<_>>());
        assert_eq!(renewed.now, begun + 2 * SECOND);
    }
}

/// Its record was deleted and made anew, and those of its node ids are there still.
#[test]
fn every_lease_ends_with_its_namespace() {
    let (map, mut store, grants) = three();
    map.state().texts.remove(&Key::Namespace);
    let mut another = open(&map);
    another.administration().create_namespace().unwrap();
    another.administration().override_quarantine().unwrap();
    let renewed = store.renew(&grants, TTL).unwrap();
    assert_eq!(renewed.ends, [Err(Loss::Forgotten); 3]);
}
