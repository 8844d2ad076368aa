//! Changes of others to a store, as the tool shows them

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use randflake_std::Randflake;
use randflake_std::lease::{AcquireRequest, Namespace, NodeIds, SqliteStore, Token};
use randflake_std::unstable::rules::{NodeRecord, VERSION};
use serde_json::Value;

use crate::user::{User, objects};

/// Gives a name to the holders of all leases.
fn name_holders(database: &Path, name: &str) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let select = "SELECT number, value FROM record WHERE kind = 2";
    let mut statement = connection.prepare(select).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let texts: Vec<(u32, String)> = rows.unwrap().map(Result::unwrap).collect();
    for (node_id, text) in texts {
        let record = NodeRecord {
            holder: name.to_owned(),
            held: true,
            ..NodeRecord::from_text(node_id, &text, VERSION).unwrap()
        };
        let update = "UPDATE record SET value = ?1 WHERE kind = 2 AND number = ?2";
        let changed = connection.execute(update, (record.to_text(), node_id));
        assert_eq!(changed.unwrap(), 1);
    }
}

#[test]
fn a_holder_s_name_cannot_forge_the_list() {
    const NAME: &str = "x\n7       2026-01-01T00:00:00Z  \u{1b}[2J\u{9b}2J\u{202e}\r\u{7f}";
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let mut endless = user.start(&["generate", "-n", "1000000000"]);
    let mut ids = BufReader::new(endless.stdout.take().unwrap());
    ids.read_line(&mut String::new()).unwrap();
    name_holders(&user.state("leases.db"), NAME);
    let list = user.run(&["lease", "list", "--all"]).ok();
    let rows = user
        .run(&["lease", "list", "--all", "--json"])
        .ok()
        .lines()
        .count();
    assert_eq!(list.lines().count(), rows + 1, "{list}");
    assert!(list.contains("x\\n7  "), "{list}");
    // The last to end: the one that was released first lives to the end of its second.
    let live = objects(&user.run(&["lease", "list", "--json"]).ok());
    let held = live
        .iter()
        .max_by_key(|lease: &&Value| lease["end_unix_ms"].as_u64())
        .unwrap();
    let answer = user.run(&["lease", "release", &held["node"].to_string()]);
    assert!(answer.stderr.contains("is leased by x\\n7  "), "{answer:?}");
    for shown in [list, answer.fails(1)] {
        assert!(
            shown
                .chars()
                .all(|c: char| c == '\n' || c.escape_debug().count() == 1 || "'\"\\".contains(c)),
            "{shown:?}"
        );
    }
    endless.kill().unwrap();
    endless.wait().unwrap();
}

#[test]
fn a_full_store_says_when_to_try_again() {
    let user = User::new();
    // Longer than a busy machine takes until the tool asks.
    let max_ttl = Duration::from_secs(600);
    let namespace = Namespace::new("default", Randflake)
        .unwrap()
        .with_max_ttl(max_ttl);
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
