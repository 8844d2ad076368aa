//! The command `randflake generate`.

use core::time::Duration;
use std::collections::HashSet;
use std::fs;

use randflake_std::Randflake;
use randflake_std::lease::{AcquireRequest, Namespace, NodeIds, SqliteStore, Token};

use crate::user::User;

#[track_caller]
fn assert_distinct<'a>(ids: impl IntoIterator<Item = &'a str>, count: usize) {
    let ids: Vec<_> = ids.into_iter().collect();
    assert_eq!(ids.len(), count);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), count);
}

#[test]
fn killed_runs_repeat_nothing() {
    let user = User::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut endless = user.endless(&["--node-ids", "1"]);
        ids.extend(endless.read(1_000));
        endless.kill();
    }
    let last = user.run_keyed(&["generate", "-n", "1000"]).ok();
    assert_distinct(ids.iter().map(String::as_str).chain(last.lines()), 6_000);
}

#[test]
fn a_store_without_free_node_ids_says_when_to_try_again() {
    let user = User::new();
    // Longer than a busy machine takes until the tool asks.
    let max_ttl = Duration::from_secs(600);
    let namespace = Namespace::new("default", Randflake).unwrap();
    let namespace = namespace.with_max_ttl(max_ttl);
    fs::create_dir_all(user.state("")).unwrap();
    let mut store = SqliteStore::open(user.state("leases.db"), &namespace).unwrap();
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "a crowd",
        nodes: NodeIds::Any(131_072),
        ttl: 600,
    };
    store.acquire(&request).unwrap();
    let said = user.run_keyed(&["generate", "--max-ttl", "10m"]).fails(3);
    let wait = said.strip_prefix("too few node ids are free: try again in ");
    let wait = humantime::parse_duration(wait.unwrap()).unwrap();
    assert!(wait <= max_ttl, "{said}");
}
