//! The command `randflake generate`.

use core::time::Duration;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::process::Stdio;

use randflake_std::Randflake;
use randflake_std::lease::{AcquireRequest, Namespace, NodeIds, SqliteStore, Token};

use crate::user::{Answer, KEY, User, objects, tells_of_a_quarantine, words};

#[track_caller]
fn assert_distinct<'a>(ids: impl IntoIterator<Item = &'a str>, count: usize) {
    let ids: Vec<_> = ids.into_iter().collect();
    assert_eq!(ids.len(), count);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), count);
}

#[test]
fn ids_are_printed_in_each_format() {
    let user = User::new();
    assert_eq!(user.run_keyed(&["generate"]).ok().lines().count(), 1);
    let texts = user.run_keyed(&["generate", "-n", "3"]).ok();
    assert_distinct(texts.lines(), 3);
    user.run_on(texts.as_bytes(), &["inspect"]).ok();
    let ints = user
        .run_keyed(&["generate", "--count", "3", "--format", "int"])
        .ok();
    assert!(
        ints.lines().all(|line| line.parse::<i64>().is_ok()),
        "{ints}"
    );
    let lines = user
        .run_keyed(&["generate", "-n", "3", "--format", "json"])
        .ok();
    let ids = objects(&lines);
    let texts = ids.iter().map(|id| id["text"].as_str().unwrap());
    let texts = texts.collect::<Vec<_>>().join("\n");
    assert_eq!(
        user.run_on(texts.as_bytes(), &["inspect", "--json"]).ok(),
        lines
    );
    assert_eq!(
        [0, 1, 2].map(|index| ids[index]["sequence"].as_u64()),
        [Some(0), Some(1), Some(2)]
    );
}

/// `--json` is `--format json` wherever ids are made, and every form of `convert` is one of `--format`.
#[test]
fn formats_mean_the_same_everywhere() {
    let user = User::new();
    let forms = [
        "text", "int", "uint", "hex", "base2", "base32", "base36", "base58", "base62", "base64",
        "bytes", "uuid",
    ];
    let compose = words("compose --time 1733706297 --node 42 --sequence 1");
    let id = user.run_keyed(&compose).ok();
    user.begin_counter(&[]);
    for form in forms {
        let composed = user.run_keyed(&[&compose[..], &["--format", form]].concat());
        let converted = user.run_keyed(&["convert", "--to", form, id.trim()]);
        assert_eq!(composed.ok(), converted.ok());
        for command in [&["generate"][..], &["segment"], &["segment", "--encrypt"]] {
            let made = user.run_keyed(&[command, &["-n", "2", "--format", form]].concat());
            let back = ["convert", "--from", form, "--to", form];
            let made = made.ok();
            assert_eq!(user.run_on(made.as_bytes(), &back).ok(), made);
        }
    }
    let long = user.run_keyed(&[&compose[..], &["--format", "json"]].concat());
    assert_eq!(
        user.run_keyed(&[&compose[..], &["--json"]].concat()).ok(),
        long.ok()
    );
    let made = objects(&user.run_keyed(&["generate", "-n", "2", "--json"]).ok());
    assert_eq!(made[1]["sequence"], 1);

    let resume = ["segment", "resume", "1000"];
    user.run(&resume).ok();
    let plain = user.run_keyed(&["segment", "-n", "2", "--json"]).ok();
    assert_eq!(
        plain,
        "{\"text\":\"v8\",\"int\":\"1000\",\"raw\":\"1000\"}\n\
         {\"text\":\"v9\",\"int\":\"1001\",\"raw\":\"1001\"}\n"
    );
    let encrypted = user.run_keyed(&["segment", "--encrypt", "--json"]).ok();
    let encrypted = &objects(&encrypted)[0];
    assert_eq!(encrypted["raw"], "1002");
    let decrypt = [
        "convert",
        "--decrypt",
        "--to",
        "int",
        encrypted["text"].as_str().unwrap(),
    ];
    assert_eq!(user.run_keyed(&decrypt).ok(), "1002\n");
    let both = ["generate", "--json", "--format", "int"];
    let said = user.run_keyed(&both).fails(2);
    assert!(
        said.starts_with("the argument '--json' cannot be used with '--format <FORM>'"),
        "{said}"
    );
}

#[test]
fn none_asked_for_is_none() {
    let user = User::without_store();
    assert_eq!(user.run(&["generate", "-n", "0"]).ok(), "");
    assert!(!user.path("state").exists());
}

#[test]
fn two_hundred_thousand_are_distinct() {
    let user = User::new();
    let ids = user.run_keyed(&["generate", "-n", "200000"]).ok();
    assert_distinct(ids.lines(), 200_000);
}

#[test]
fn one_node_id_waits_for_the_next_second() {
    let user = User::new();
    let arguments = ["generate", "-n", "140000", "--node-ids", "1"];
    let ids = user.run_keyed(&arguments).ok();
    assert_distinct(ids.lines(), 140_000);
    let (first, last) = (ids.lines().next().unwrap(), ids.lines().last().unwrap());
    let ends = objects(&user.run_keyed(&["inspect", "--json", first, last]).ok());
    assert_eq!(ends[0]["node"], ends[1]["node"]);
    assert!(ends[0]["time"].as_u64() < ends[1]["time"].as_u64());
}

#[test]
fn restarts_repeat_nothing() {
    let user = User::new();
    let runs: Vec<_> = (0..20)
        .map(|_| user.run_keyed(&["generate", "-n", "50"]).ok())
        .collect();
    assert_distinct(runs.iter().flat_map(|run| run.lines()), 1_000);
}

#[test]
fn ten_at_once_repeat_nothing() {
    let user = User::new();
    let children = [(); 10].map(|()| {
        let mut command = user.command(&["generate", "-n", "5000"]);
        command
            .env("RANDFLAKE_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let runs = children.map(|child| Answer::of(child.wait_with_output().unwrap()).ok());
    assert_distinct(runs.iter().flat_map(|run| run.lines()), 50_000);
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
fn a_reader_that_has_enough_ends_it_quietly() {
    let user = User::new();
    let mut endless = user.endless(&[]);
    endless.read(1);
    endless.stop_reading().ok();
    // It has released its leases: none outlasts the second that it issued in.
    for lease in objects(&user.run(&["lease", "list", "--all", "--json"]).ok()) {
        let ticks =
            lease["end_unix_ms"].as_u64().unwrap() - lease["start_unix_ms"].as_u64().unwrap();
        assert!(ticks < 30_000, "{lease}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let user = User::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = user.command(&["generate"]);
    let output = command.env("RANDFLAKE_KEY", KEY).stdout(full).output();
    let said = Answer::of(output.unwrap()).fails(1);
    assert_eq!(
        said,
        "standard output: No space left on device (os error 28)"
    );
}

#[test]
fn stores_and_namespaces_are_taken_from_options_and_variables() {
    let user = User::without_store();
    let store = |name: &str| format!("sqlite:{}", user.argument(name));
    let (a, b) = (store("a.db"), store("b.db"));
    user.run_keyed(&["generate", "--store", &a, "--namespace", "orders"])
        .in_new_store()
        .ok();
    let variables = [
        ("RANDFLAKE_KEY", KEY),
        ("RANDFLAKE_STORE", b.as_str()),
        ("RANDFLAKE_NAMESPACE", "bills"),
    ];
    user.run_in(&variables, &["generate"]).in_new_store().ok();
    assert!(
        user.path("a.db").exists() && user.path("b.db").exists() && !user.path("state").exists()
    );
    for (store, namespace, is_there) in [
        (&a, "orders", true),
        (&a, "bills", false),
        (&b, "bills", true),
    ] {
        let list = [
            "lease",
            "list",
            "--all",
            "--json",
            "--store",
            store,
            "--namespace",
            namespace,
        ];
        let answer = user.run_in(&variables, &list);
        if is_there {
            assert_eq!(objects(&answer.ok()).len(), 1);
        } else {
            let said = answer.fails(1);
            assert!(
                said.ends_with("it has \"orders\"; choose one with --namespace"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_store_that_is_none_is_said() {
    let user = User::new();
    fs::write(
        user.path("notes"),
        "not a database, but long enough to be looked at",
    )
    .unwrap();
    let notes = user.argument("notes");
    let said = user
        .run_keyed(&["generate", "--store", &format!("sqlite:{notes}")])
        .fails(1);
    assert_eq!(said, format!("{notes}: this is not an SQLite database"));
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

#[test]
fn a_store_that_was_deleted_says_how_long_it_waits() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    fs::remove_file(user.state("leases.db")).unwrap();
    let said = user.run_keyed(&["generate"]).in_new_store().fails(3);
    assert!(
        said.contains("may have been forgotten") && tells_of_a_quarantine(&said),
        "{said}"
    );
}

#[test]
fn more_ids_than_an_assigned_node_id_has_in_a_second_come_from_it_alone() {
    let user = User::new();
    let url = format!("static:{}?node=7", user.path("node").display());
    user.run(&["lease", "init", "--yes", "--store", &url]).ok();
    let many = ["generate", "-n", "131073", "--store", &url];
    assert_eq!(user.run_keyed(&many).ok().lines().count(), 131_073);
    let two = [&many[..], &["--node-ids", "2", "--wait", "10m"]].concat();
    let said = user.run_keyed(&two).fails(2);
    assert!(said.contains("one node id"), "{said}");
}
