//! `lease init` and `segment init` on real servers: they declare a namespace or a counter new,
//! unless holders from before show themselves.

use core::time::Duration;
use std::time::Instant;
use std::{fs, thread};

use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::date::span;
use randflake_std::lease::{Namespace, open};
use randflake_std::segment::{self, Segments};
use randflake_std::{Handle, Randflake, Secret};

use crate::user::{Answer, KEY, User};

/// So short that a test waits for renewals.
const TTL: Duration = Duration::from_secs(6);
const INIT: [&str; 5] = ["lease", "init", "--max-ttl", "6s", "--store"];

fn init(url: &str, options: &[&str]) -> Answer {
    User::new().run(&[&INIT[..], &[url], options].concat())
}

fn holder(url: &str) -> Handle {
    let namespace = Namespace::new("default", Randflake).unwrap();
    let mut store = open(url, &namespace.with_max_ttl(TTL)).unwrap();
    store.administration().end_quarantine().unwrap();
    let builder = Handle::builder(&Secret::from_hex(KEY).unwrap(), store);
    builder.ttl(TTL).build().unwrap()
}

/// A server that forgets all under a live holder looks new; `lease init` waits, and is refused.
fn a_live_holder_is_noticed(url: &str, forget: impl FnOnce()) {
    let ids = holder(url);
    ids.generate().unwrap();
    forget();
    let answer = init(url, &["--yes"]);
    assert_eq!(answer.status, Some(1), "{answer:?}");
    let said = answer.stderr.lines().last().unwrap();
    assert!(said.contains("the namespace is not new"), "{answer:?}");
    // Not even at once, now that it is known.
    let said = init(url, &["--yes", "--no-wait"]).fails(1);
    assert!(said.contains("the namespace is not new"), "{said}");
    drop(ids);
}

mod a_live_holder_is_noticed_on {
    on_each_engine!(super::a_live_holder_is_noticed);
}

#[test]
fn a_wait_ends_when_the_namespace_is_declared_new() {
    let redis = RedisServer::start();
    let url = redis.url();
    let user = User::new();
    let generate = [
        "generate",
        "--max-ttl",
        "6s",
        "--ttl",
        "6s",
        "--store",
        &url,
    ];
    let said = user.run_keyed(&generate).fails(3);
    assert!(said.contains("randflake lease init"), "{said}");

    let waiting = [&generate[..], &["--wait", "10m"]].concat();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| user.run_keyed(&waiting));
        let told = init(&url, &["--yes"]);
        assert_eq!(
            (told.status, &*told.stdout),
            (Some(0), "the namespace grants leases\n")
        );
        assert!(
            told.stderr.contains("waiting for ") && told.stderr.contains("cut off from the store"),
            "{told:?}"
        );
        let begun = Instant::now();
        let answer = waiting.join().unwrap();
        assert_eq!(
            (answer.status, answer.stdout.lines().count()),
            (Some(0), 1),
            "{answer:?}"
        );
        assert!(told.stderr.contains("still waiting: "), "{told:?}");
        // Far below the quarantine, on any machine.
        assert!(begun.elapsed() < Duration::from_secs(60));
    });
    // Once more changes nothing, also without a word.
    assert_eq!(init(&url, &[]).ok(), "the namespace grants leases\n");
}

#[test]
fn nobody_declares_it_by_mistake() {
    let redis = RedisServer::start();
    let said = init(&redis.url(), &[]).fails(2);
    assert!(said.contains("add --yes"), "{said}");
    assert_eq!(redis.ask("KEYS *"), "*0\r\n");
    // Where nobody can be, it does not wait.
    let told = init(&redis.url(), &["--yes", "--no-wait"]).ok();
    assert_eq!(told, "the namespace grants leases\n");
    // Other terms are refused, and by name.
    let other = ["lease", "acquire", "--store", &redis.url()];
    let said = User::new().run(&other).fails(1);
    assert!(
        said.contains("longest TTL 6s") && said.contains("longest TTL 1m"),
        "{said}"
    );
    assert!(said.contains("fixed when a namespace is created"), "{said}");
}

/// A counter that is gone looks new; `segment init` waits for processes that have numbers from
/// before, and is refused.
#[test]
fn a_live_handle_of_a_counter_is_noticed() {
    let redis = RedisServer::start();
    let url = redis.url();
    let declare = |options: &[&str]| {
        let command = ["segment", "init", "--store", &url];
        User::new().run(&[&command[..], options].concat())
    };
    User::new().begin_counter(&["--store", &url]);
    let namespace = Namespace::new("default", Randflake).unwrap();
    let store = segment::open(&url, &namespace).unwrap();
    let numbers = Segments::builder(store).build().unwrap();
    let has_two = || numbers.status().remaining == 2_000;
    while !has_two() {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(redis.ask("FLUSHALL"), "+OK\r\n");
    let answer = declare(&[]);
    let said = &answer.stderr;
    assert_eq!(answer.status, Some(1), "{answer:?}");
    let resume = format!("at least 2001: `randflake segment resume NUMBER --store {url}`");
    assert!(
        said.contains("waiting for 33s") && said.contains(&resume),
        "{said}"
    );
    // What it has is its own. Somebody says where the counter goes on.
    assert_eq!(numbers.next().unwrap().to_u64(), 1);
    let resume = ["segment", "resume", "--store", &url, "1"];
    assert_eq!(
        User::new().run(&resume).ok(),
        "the counter goes on at 2001\n"
    );
}

/// Also where all files of the store were removed under the process, as `rm leases.db*` does.
#[test]
fn a_live_handle_of_a_counter_in_a_file_is_noticed() {
    let user = User::new();
    let path = user.argument("ids.db");
    let url = format!("sqlite:{path}");
    user.begin_counter(&["--store", &url]);
    let namespace = Namespace::new("default", Randflake).unwrap();
    let store = segment::open(&url, &namespace).unwrap();
    let within = span(segment::compared_within(&store));
    let numbers = Segments::builder(store).build().unwrap();
    while numbers.status().remaining < 2_000 {
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(&path).unwrap();
    fs::remove_file(format!("{path}.lock")).unwrap();
    let answer = user.run(&["segment", "init", "--store", &url]);
    let resume = format!("at least 2001: `randflake segment resume NUMBER --store {url}`");
    for said in [&format!("waiting for {within}: "), &resume] {
        assert!(answer.stderr.contains(said), "{said}: {answer:?}");
    }
    assert_eq!(answer.status, Some(1), "{answer:?}");
    assert_eq!(
        user.run(&["segment", "resume", "1", "--store", &url]).ok(),
        "the counter goes on at 2001\n"
    );
}

/// A message of a service is kept in a log, where others read it.
#[test]
fn a_missing_counter_is_named_without_the_password() {
    let redis = RedisServer::start();
    let url = redis.url();
    assert_eq!(redis.ask("CONFIG SET requirepass hunter2"), "+OK\r\n");
    let given = url.replace("redis://", "redis://:hunter2@");
    let said = User::new().run(&["segment", "--store", &given]).fails(1);
    let shown = url.replace("redis://", "redis://:PASSWORD@");
    let command = format!("`randflake segment init --store {shown}`");
    assert!(
        said.contains(&command) && !said.contains("hunter2"),
        "{said}"
    );
}

/// A copy of a database beside its original: the tool refuses it until a person says that the
/// original is gone.
#[test]
fn a_copied_database_is_declared_moved_by_a_person() {
    let server = PostgresServer::start();
    let execute = |sql: &str| server.client("postgres").batch_execute(sql).unwrap();
    execute("CREATE DATABASE ids");
    let [original, copy] = ["ids", "copy"].map(|name| server.url(name));
    let issue = |url: &str| {
        User::new().run_keyed(&["generate", "--max-ttl", "6s", "--ttl", "6s", "--store", url])
    };
    init(&original, &["--yes", "--no-wait"]).ok();
    issue(&original).ok();
    execute("CREATE DATABASE copy TEMPLATE ids");

    let said = issue(&copy).fails(1);
    assert!(
        said.contains("this is a copy") && said.contains("lease init --moved"),
        "{said}"
    );
    for options in [&["--yes"][..], &["--yes", "--no-wait"]] {
        let said = init(&copy, options).fails(1);
        assert!(said.contains("lease init --moved"), "{said}");
    }
    let doctor = User::new().run_keyed(&["doctor", "--max-ttl", "6s", "--store", &copy]);
    assert!(doctor.stdout.contains("problem  copy "), "{doctor:?}");
    // Nobody answers for a script.
    let said = init(&copy, &["--moved"]).fails(2);
    assert!(said.contains("add --yes"), "{said}");
    issue(&original).ok();

    let said = init(&copy, &["--moved", "--yes"]).ok();
    assert!(
        said.contains("the store may have forgotten leases"),
        "{said}"
    );
    let waits = issue(&copy);
    assert_eq!(waits.status, Some(3), "{waits:?}");
    for url in [&copy, &original] {
        let said = init(url, &["--moved"]).ok();
        assert_eq!(
            said,
            "this store is no copy of another one: nothing was declared\n"
        );
    }
    let missing = init(&copy, &["--moved", "--yes", "--namespace", "orders"]).fails(1);
    assert!(
        missing.contains("there is no namespace \"orders\""),
        "{missing}"
    );
}
