//! Lists of leases: the fields of a hash have no order, so the node ids are kept in one beside it.

use core::time::Duration;

use harness::redis::RedisServer;
use randflake_core::Randflake;
use randflake_lease::{LeaseStore, Namespace};
use randflake_redis::RedisStore;

use randflake_lease::testkit::leases::acquire;

const LEASED: u32 = 3_000;

/// Bytes that the server has sent so far.
fn sent(redis: &RedisServer) -> u64 {
    let stats = redis.ask("INFO stats");
    let (_, rest) = stats.split_once("total_net_output_bytes:").unwrap();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

fn scans(redis: &RedisServer) -> bool {
    redis.ask("INFO commandstats").contains("cmdstat_hscan:")
}

fn store(redis: &RedisServer) -> LeaseStore {
    let namespace = Namespace::new("orders", Randflake)
        .unwrap()
        .with_max_ttl(Duration::from_secs(3_600));
    RedisStore::open(&redis.url(), &namespace).unwrap()
}

/// Node ids that are listed from one on, in pages.
fn listed(store: &mut LeaseStore, mut first: u32, page: usize) -> Vec<u32> {
    let mut node_ids = Vec::new();
    loop {
        let records = store.list_from(first, page).unwrap();
        node_ids.extend(records.iter().map(|record| record.grant.node_id));
        match records.last() {
            Some(last) if records.len() == page => first = last.grant.node_id + 1,
            _ => return node_ids,
        }
    }
}

#[test]
fn a_page_costs_what_it_shows() {
    let redis = RedisServer::start();
    let mut store = store(&redis);
    store.administration().end_quarantine().unwrap();
    for batch in 1..=LEASED / 500 {
        acquire(&mut store, batch.into(), 500).unwrap();
    }
    redis.ask("CONFIG RESETSTAT");
    let all = listed(&mut store, 0, usize::MAX);
    assert_eq!(all.len(), LEASED as usize);
    assert!(all.is_sorted());
    for page in [1, 7, 1_000, 2_999, 3_000] {
        let from = all[all.len() / 3];
        assert_eq!(
            listed(&mut store, from, page),
            all[all.len() / 3..],
            "{page}"
        );
    }
    let before = sent(&redis);
    let one = store.list_from(all[100] + 1, 1).unwrap();
    assert_eq!(one[0].grant.node_id, all[101]);
    // With what the first `INFO` itself has sent, some 2 kB.
    let bytes = sent(&redis) - before;
    assert!(bytes < 8_000, "{bytes}");
    assert!(!scans(&redis));
}

#[test]
fn a_list_is_whole_although_the_order_was_deleted() {
    let redis = RedisServer::start();
    let mut store = store(&redis);
    store.administration().end_quarantine().unwrap();
    acquire(&mut store, 1, 50).unwrap();
    let all = listed(&mut store, 0, 20);
    assert_eq!(redis.ask("DEL randflake:{orders}:nodes"), ":1\r\n");
    // What is leased afterwards is in an order again, but not what was leased before.
    let later = acquire(&mut store, 2, 5).unwrap();
    let mut expected = all;
    expected.extend(later.grants.iter().map(|grant| grant.node_id));
    expected.sort_unstable();
    assert_eq!(listed(&mut store, 0, usize::MAX), expected);
    assert!(scans(&redis));
}

/// As after a `DEL` of the namespace by hand.
#[test]
fn node_ids_whose_records_are_gone_are_passed_over() {
    let redis = RedisServer::start();
    let mut before = store(&redis);
    before.administration().end_quarantine().unwrap();
    acquire(&mut before, 1, 3_000).unwrap();
    assert_eq!(redis.ask("DEL randflake:{orders}"), ":1\r\n");
    let mut after = store(&redis);
    after.administration().end_quarantine().unwrap();
    let granted = acquire(&mut after, 2, 20).unwrap().grants;
    let mut expected: Vec<_> = granted.iter().map(|grant| grant.node_id).collect();
    expected.sort_unstable();
    assert_eq!(listed(&mut after, 0, 7), expected);
    after.administration().drop_namespace().unwrap();
    assert_eq!(after.list().unwrap(), []);
    assert_eq!(redis.ask("ZCARD randflake:{orders}:nodes"), ":1\r\n");
}
