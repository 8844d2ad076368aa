//! Changes of others to a store, as the tool shows them

use core::time::Duration;
use std::fs;
use std::path::Path;

use randflake_std::Randflake;
use randflake_std::lease::{AcquireRequest, Namespace, NodeIds, SqliteStore, Token};
use randflake_std::unstable::rules::{NodeRecord, VERSION};
use serde_json::Value;

use crate::user::{User, objects, tells_of_a_quarantine};

#[test]
fn a_namespace_with_live_leases_is_dropped_by_force() {
    let user = User::new();
    let mut endless = user.endless(&[]);
    endless.read(1);
    let drop = ["lease", "drop", "default"];
    let said = user.run(&[&drop[..], &["--yes"]].concat()).fails(1);
    assert!(
        said.contains("live leases of 64 node ids") && said.contains("add --force"),
        "{said}"
    );
    let said = user.run(&[&drop[..], &["--force"]].concat()).fails(2);
    assert!(said.contains("add --yes"), "{said}");
    let told = user.run(&[&drop[..], &["--force", "--yes"]].concat()).ok();
    assert!(told.contains("lease init --reopen"), "{told}");
    assert_eq!(user.run(&["lease", "namespaces", "--json"]).ok(), "");
    endless.kill();

    // Who comes back with it does not open it: a person does.
    for command in [&["generate"][..], &["lease", "init"]] {
        let said = user.run_keyed(command).fails(1);
        assert!(
            said.contains("was dropped") && said.contains("lease init --reopen"),
            "{said}"
        );
    }
    let told = user.run(&["lease", "init", "--reopen"]).ok();
    assert!(told.contains("was dropped, and opened again"), "{told}");
    // Another secret is allowed now, and waits for the leases of the first.
    let other = [("RANDFLAKE_KEY", "00000000000000000000000000000001")];
    let said = user.run_in(&other, &["generate"]).fails(3);
    assert!(
        said.contains("was dropped") && tells_of_a_quarantine(&said),
        "{said}"
    );
    let said = user.run(&["lease", "init"]).fails(1);
    assert!(
        said.contains("is not new") && said.contains("was dropped"),
        "{said}"
    );
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert!(
        status[0]["quarantine"]
            .as_str()
            .unwrap()
            .contains("was dropped")
    );
}

#[test]
fn a_damaged_namespace_does_not_hide_the_others() {
    let user = User::new();
    for name in ["apples", "pears", "plums"] {
        user.run_keyed(&["generate", "--shared-secret", "--namespace", name])
            .ok();
    }
    let store = rusqlite::Connection::open(user.state("leases.db")).unwrap();
    let damage = "UPDATE record SET value = 'rotten' WHERE namespace = 'pears' AND kind = 0";
    assert_eq!(store.execute(damage, []).unwrap(), 1);
    drop(store);
    for arguments in [
        &["lease", "namespaces"][..],
        &["lease", "namespaces", "--json"],
    ] {
        let answer = user.run(arguments);
        assert!(
            answer.stdout.contains("apples") && answer.stdout.contains("plums"),
            "{answer:?}"
        );
        assert!(!answer.stdout.contains("pears"), "{answer:?}");
        assert!(
            answer.stderr.contains("the namespace \"pears\""),
            "{answer:?}"
        );
        assert!(
            answer.stderr.contains("1 namespace cannot be read"),
            "{answer:?}"
        );
        assert_eq!(answer.status, Some(1));
    }
}

/// As after `lease upgrade` by a later program.
#[test]
fn a_namespace_of_a_later_version_is_left_as_it_is() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert_eq!(status[0]["version"], 1);
    let said = user.run(&["lease", "upgrade"]).ok();
    let nothing = "namespace \"default\" has version 1, the highest that this randflake knows: nothing to do\n";
    assert_eq!(said, nothing);
    let missing = user.run(&["lease", "upgrade", "--namespace", "plums"]);
    assert!(missing.fails(1).contains("no namespace \"plums\""));

    let store = rusqlite::Connection::open(user.state("leases.db")).unwrap();
    let raise = "UPDATE record SET value = '22:22:' || substr(value, 7) WHERE kind = 0";
    assert_eq!(store.execute(raise, []).unwrap(), 1);
    let texts = || {
        let all = "SELECT group_concat(value, '; ') FROM record ORDER BY kind, number";
        let texts: String = store.query_row(all, [], |row| row.get(0)).unwrap();
        texts
    };
    let before = texts();
    for arguments in [
        &["generate"][..],
        &["lease", "acquire"],
        &["lease", "list"],
        &["lease", "status"],
        &["lease", "init", "--yes", "--no-wait"],
        &["lease", "quarantine"],
        &["lease", "quarantine", "--end"],
        &["lease", "upgrade", "--force"],
        &["lease", "drop", "default", "--yes", "--force"],
    ] {
        let said = user.run_keyed(arguments).fails(1);
        let why = "a newer randflake made it (version 2; this one knows 1): update this one";
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    assert_eq!(texts(), before);
}

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
    let mut endless = user.endless(&[]);
    endless.read(1);
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
    let end = |lease: &&Value| lease["end_unix_ms"].as_u64();
    let held = live.iter().max_by_key(end).unwrap();
    let answer = user.run(&["lease", "release", &held["node"].to_string()]);
    assert!(answer.stderr.contains("is leased by x\\n7  "), "{answer:?}");
    for shown in [list, answer.fails(1)] {
        let is_visible =
            |c: char| c == '\n' || c.escape_debug().count() == 1 || "'\"\\".contains(c);
        assert!(shown.chars().all(is_visible), "{shown:?}");
    }
    endless.kill();
}

/// The line of a field.
fn field<'a>(told: &'a str, name: &str) -> &'a str {
    let mut lines = told.lines();
    let line = lines.find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name}: {told}")).trim()
}

#[test]
fn holders_of_ids_are_told_after_later_leases() {
    let user = User::new();
    let mut holders = Vec::new();
    for _ in 0..3 {
        let mut process = user.endless(&["--node-id", "7", "--wait", "1m"]);
        let ids = process.read(3);
        holders.push((process.process_id(), ids));
        drop(process.stop_reading());
    }
    for (process, ids) in &holders {
        let told = user.run_keyed(&["explain", &ids[1]]).ok();
        assert!(
            field(&told, "holder").contains(&format!("/{process}/")),
            "{told}"
        );
        assert_eq!(field(&told, "node"), "7");
        assert!(field(&told, "lease").ends_with(", released"), "{told}");
        assert!(field(&told, "verdict").starts_with("held: "), "{told}");
        let typed = format!("ord_{}", ids[1]);
        let typed = user.run_keyed(&["explain", &typed]).ok();
        assert_eq!(typed, format!("prefix    ord\n{told}"));
    }
    let all: Vec<_> = holders.iter().flat_map(|(_, ids)| ids.clone()).collect();
    let told = user.run_on(all.join("\n").as_bytes(), &["explain", "--json"]);
    let rows = objects(&told.ok());
    assert_eq!(rows.len(), 9);
    for (row, (process, _)) in rows.iter().zip(holders.iter().flat_map(|it| [it; 3])) {
        let holder = row["lease"]["holder"].as_str().unwrap();
        assert!(holder.contains(&format!("/{process}/")), "{row}");
        assert_eq!(row["verdict"], "held");
    }
}

#[test]
fn a_history_that_was_tampered_with_is_told() {
    let user = User::new();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let told = user.run_keyed(&["generate", "--node-id", "7", "--wait", "1m"]);
        assert_eq!(told.status, Some(0), "{told:?}");
        ids.push(told.stdout.trim().to_owned());
    }
    let store = rusqlite::Connection::open(user.state("leases.db")).unwrap();
    let delete = "DELETE FROM record WHERE kind = 5 AND number = 7 << 16 | 1";
    assert_eq!(store.execute(delete, []).unwrap(), 1);
    drop(store);
    let answer = user.run_keyed(&["explain", &ids[0]]);
    assert_eq!(answer.status, Some(0));
    assert!(
        field(&answer.stdout, "verdict").starts_with("unknown: "),
        "{answer:?}"
    );
    assert!(
        answer
            .stderr
            .contains("the history of node id 7 was tampered with")
            && answer.stderr.contains("is missing"),
        "{answer:?}"
    );
}

#[test]
fn a_full_store_says_when_to_try_again() {
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
