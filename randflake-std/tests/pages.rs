//! The stores that find free node ids by pages know of each full page when its first lease ends, before
//! anybody has looked there in vain: so a full namespace is refused by the pages alone.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[expect(dead_code, reason = "other tests do more to servers")]
mod engines;

use core::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engines::etcd::EtcdCluster;
use engines::mariadb::MariadbServer;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token, open,
};
use randflake_std::randflake_core::Snowflake;

/// In milliseconds, the layout's ticks.
const SHORT: u64 = 60_000;
const LONG: u64 = 300_000;

fn acquire(store: &mut dyn LeaseStore, count: u32) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: SHORT,
    });
    acquired.map(|acquired| acquired.grants)
}

/// `soonest` reads the least tick that a page is noted with, and how many pages are noted.
fn full_pages_are_known(url: &str, mut soonest: impl FnMut() -> (u64, u64)) {
    let namespace = Namespace::of::<Snowflake>("orders").unwrap();
    let mut store = open(url, &namespace).unwrap();
    // As many as a page has, but the first of them may be of several.
    let counts = [255, 255, 255, 255, 1, 1, 1, 1];
    let mut grants: Vec<Grant> = counts
        .iter()
        .flat_map(|&count| acquire(&mut *store, count).unwrap())
        .collect();
    let first_end = grants.iter().map(|grant| grant.end).min().unwrap();
    assert_eq!(soonest(), (first_end, 4));

    // More than half of its TTL before the first one ends, whoever renews says so.
    let ends = store.renew(&grants, LONG).unwrap().ends;
    for (grant, end) in grants.iter_mut().zip(ends) {
        grant.end = end.unwrap();
    }
    let first_end = grants.iter().map(|grant| grant.end).min().unwrap();
    assert_eq!(soonest(), (first_end, 4));
    let refused = acquire(&mut *store, 1).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(
        retry_in > Duration::from_millis(LONG - SHORT),
        "{retry_in:?}"
    );

    let unused = Grant {
        end: grants[700].start,
        ..grants[700]
    };
    store.release(&[unused]).unwrap();
    assert!(soonest().0 <= unused.end);
    assert_eq!(acquire(&mut *store, 1).unwrap()[0].node_id, unused.node_id);
    assert!(acquire(&mut *store, 1).is_err());
}

#[test]
fn mariadb_knows_full_pages() {
    let server = MariadbServer::start();
    let database = "CREATE DATABASE ids";
    server.client(None).query_drop(database).unwrap();
    full_pages_are_known(&server.url("ids"), || {
        let soonest = "SELECT MIN(soonest_end), COUNT(*) FROM randflake_page";
        let row = server.client(Some("ids")).query_first(soonest).unwrap();
        row.unwrap()
    });
}

#[test]
fn etcd_knows_full_pages() {
    let cluster = EtcdCluster::start(1);
    full_pages_are_known(&cluster.url(), || {
        let [from, to] =
            ["page/", "page0"].map(|key| STANDARD.encode(format!("randflake/orders/{key}")));
        let range = format!(r#"{{"key":"{from}","range_end":"{to}"}}"#);
        let read = cluster.members[0].post("kv/range", &range);
        let read: serde_json::Value = serde_json::from_str(&read).unwrap();
        let notes = read["kvs"].as_array().unwrap().iter().map(|kv| {
            let note = STANDARD.decode(kv["value"].as_str().unwrap()).unwrap();
            u64::from_str_radix(str::from_utf8(&note).unwrap(), 16).unwrap()
        });
        let notes: Vec<_> = notes.collect();
        (*notes.iter().min().unwrap(), notes.len() as u64)
    });
}
