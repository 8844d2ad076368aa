//! The command `randflake explain`.

use crate::user::{User, objects};

/// The line of a field.
fn field<'a>(told: &'a str, name: &str) -> &'a str {
    let mut lines = told.lines();
    let line = lines.find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name}: {told}")).trim()
}

#[test]
fn an_id_s_holder_is_told_also_after_others_had_the_node_id() {
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
fn what_nobody_issued_is_told() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    // Of these 300, each decodes to any time of 34 years and any of 131,072 node ids.
    let foreign: Vec<_> = (1..=300).map(|row: u32| row.to_string()).collect();
    let told = user.run_on(
        foreign.join("\n").as_bytes(),
        &["explain", "--from", "int", "--json"],
    );
    let rows = objects(&told.ok());
    assert_eq!(rows.len(), 300);
    for name in ["ahead", "nobody"] {
        let is_so = |row: &&serde_json::Value| row["verdict"] == name && row["lease"].is_null();
        assert!(rows.iter().filter(is_so).count() > 0, "{name}");
    }
    assert!(rows.iter().all(|row| row["verdict"] != "held"));
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
fn another_secret_or_namespace_is_refused() {
    let user = User::new();
    let id = user.run_keyed(&["generate"]).ok();
    let other = [("RANDFLAKE_KEY", "00000000000000000000000000000000")];
    let told = user.run_in(&other, &["explain", id.trim()]).fails(1);
    assert!(told.contains("the secret of check value"), "{told}");
    let told = user.run_keyed(&["explain", id.trim(), "--namespace", "nowhere"]);
    let told = told.fails(1);
    assert!(told.contains("there is no namespace \"nowhere\""), "{told}");
}
