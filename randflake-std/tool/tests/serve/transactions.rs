//! `MULTI` and `EXEC`, which clients send around pipelines.

use core::time::Duration;
use std::collections::BTreeSet;
use std::time::Instant;

use crate::client::Client;
use crate::server::{Home, Server};

/// The replies to commands that are sent at once.
fn ask(client: &mut Client, commands: &[&[&str]]) -> Vec<String> {
    let bytes = commands.iter().flat_map(|words| Client::command(words));
    client.send(&bytes.collect::<Vec<_>>());
    commands.iter().map(|_| client.reply()).collect()
}

#[test]
fn queued_commands_are_executed_in_order() {
    let server = Server::start();
    let mut client = server.connect();
    let incr: &[&str] = &["INCR", "default"];
    let replies = ask(
        &mut client,
        &[&["MULTI"], incr, &["ECHO", "a"], incr, &["EXEC"]],
    );
    assert_eq!(replies[..4], ["+OK", "+QUEUED", "+QUEUED", "+QUEUED"]);
    let executed: Vec<_> = replies[4].split(' ').collect();
    let [first, "a", second] = executed[..] else {
        panic!("{executed:?}");
    };
    assert!(first.starts_with(':') && second.starts_with(':') && first != second);
    // Nothing is left of it.
    assert!(client.ask(incr).starts_with(':'));
    assert_eq!(ask(&mut client, &[&["MULTI"], &["EXEC"]]), ["+OK", ""]);
    let replies = ask(&mut client, &[&["MULTI"], incr, &["DISCARD"], &["PING"]]);
    assert_eq!(replies, ["+OK", "+QUEUED", "+OK", "+PONG"]);
    let replies = ask(&mut client, &[&["MULTI"], incr, &["RESET"], &["EXEC"]]);
    assert_eq!(
        replies,
        ["+OK", "+QUEUED", "+RESET", "-ERR EXEC without MULTI"]
    );
    assert_eq!(ask(&mut client, &[&["MULTI"], incr, &["QUIT"]])[2], "+OK");
    assert_eq!(client.rest(), "");
}

#[test]
fn errors_are_those_of_redis() {
    let aborted = "-EXECABORT Transaction discarded because of previous errors.";
    let server = Server::start();
    let mut client = server.connect();
    assert_eq!(client.ask(&["EXEC"]), "-ERR EXEC without MULTI");
    assert_eq!(client.ask(&["DISCARD"]), "-ERR DISCARD without MULTI");
    let replies = ask(&mut client, &[&["MULTI"], &["MULTI"], &["PING"], &["EXEC"]]);
    assert_eq!(
        replies[1..],
        ["-ERR MULTI calls can not be nested", "+QUEUED", "+PONG"]
    );
    for wrong in [&["FLUSHALL"][..], &["INCR"], &["EXEC", "now"]] {
        let replies = ask(
            &mut client,
            &[&["MULTI"], wrong, &["INCR", "default"], &["EXEC"]],
        );
        assert!(replies[1].starts_with("-ERR "), "{replies:?}");
        assert_eq!(replies[2..], ["+QUEUED", aborted]);
    }
    // What fails when it is executed is told in its place, and the others are executed.
    let replies = ask(
        &mut client,
        &[&["MULTI"], &["INCR", "nothing"], &["PING"], &["EXEC"]],
    );
    assert!(
        replies[3].starts_with("-ERR there is no namespace \"nothing\""),
        "{replies:?}"
    );
    assert!(replies[3].ends_with(" +PONG"), "{replies:?}");
}

#[test]
fn long_transactions_are_answered_and_too_long_ones_are_refused() {
    let server = Server::start();
    let mut client = server.connect();
    let count = 20_000;
    client.send(&Client::command(&["MULTI"]));
    client.send(&Client::command(&["INCR", "default"]).repeat(count));
    client.send(&Client::command(&["EXEC"]));
    assert_eq!(client.reply(), "+OK");
    for _ in 0..count {
        assert_eq!(client.reply(), "+QUEUED");
    }
    let ids = client.reply();
    let ids: BTreeSet<_> = ids.split(' ').collect();
    assert_eq!(ids.len(), count);
    let before = server.memory_kb();
    assert_eq!(client.ask(&["MULTI"]), "+OK");
    let long = "x".repeat(1_000_000);
    for _ in 0..4 {
        assert_eq!(client.ask(&["ECHO", &long]), "+QUEUED");
    }
    let told = client.ask(&["ECHO", &long]);
    assert_eq!(
        told,
        "-ERR the transaction is too long: 4194304 bytes of commands are allowed, send EXEC before"
    );
    for _ in 0..100 {
        assert_eq!(client.ask(&["ECHO", &long]), "+QUEUED");
    }
    assert!(client.ask(&["EXEC"]).starts_with("-EXECABORT"));
    let more = server.memory_kb().saturating_sub(before);
    assert!(more < 30_000, "{more} kB");
}

/// A transaction that is refused memory keeps none: otherwise each connection would keep what it has, and others would get
/// the memory that was given back.
#[test]
fn a_transaction_that_is_refused_keeps_nothing() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    // Of the smallest budget one token's long requests have 2 MiB.
    let arguments = ["--tokens", "tokens", "--memory", "16MiB"];
    let server = Server::start_with(home, &arguments);
    // Short enough to be read without memory of its own.
    let text = "x".repeat(3_900);
    let echo = ["ECHO", &*text];
    let mut first = server.connect_as(&token);
    assert_eq!(first.ask(&["MULTI"]), "+OK");
    let mut kept = 0;
    let refused = loop {
        let told = first.ask(&echo);
        if told != "+QUEUED" {
            break told;
        }
        kept += 1;
    };
    assert!(
        refused.starts_with("-TRYAGAIN the connections of token \"shop\""),
        "{refused}"
    );
    assert!(kept > 200, "{kept}");
    // Nothing more is kept, so nothing is waited for: each wait for memory would take five seconds.
    let begun = Instant::now();
    for _ in 0..kept {
        assert_eq!(first.ask(&echo), "+QUEUED");
    }
    assert!(begun.elapsed() < Duration::from_secs(kept));
    let mut second = server.connect_as(&token);
    assert_eq!(second.ask(&["MULTI"]), "+OK");
    for _ in 0..kept {
        assert_eq!(second.ask(&echo), "+QUEUED");
    }
    assert!(first.ask(&["EXEC"]).starts_with("-EXECABORT "));
    assert!(!second.ask(&["EXEC"]).starts_with('-'));
}
