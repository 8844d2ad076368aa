//! Quotas of requests: what each counts as.

use crate::client::Client;
use crate::server::{Home, Server};

const INSPECT: &str =
    "POST /v1/inspect?namespace=default HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";

/// A server, and a token with all scopes and a quota.
fn served(requests_per_second: &str) -> (Server, String) {
    let home = Home::new();
    let quota = ["--requests-per-second", requests_per_second];
    let token = home.token("limited", "ids,leases,inspect,admin", "*", &quota);
    let arguments = ["--tokens", "tokens", "--http", "127.0.0.1:0"];
    (Server::start_with(home, &arguments), token)
}

/// How many of so many equal commands in one pipeline are refused for the quota.
fn refused(client: &mut Client, words: &[&str], count: usize) -> usize {
    client.send(&Client::command(words).repeat(count));
    let replies = (0..count).map(|_| client.reply());
    let refused =
        replies.filter(|reply| reply.starts_with("-TRYAGAIN the token \"limited\" has a quota of"));
    refused.count()
}

#[test]
fn commands_without_ids_have_their_own_quota() {
    /// At 100 a second they would have to take over ten seconds.
    const MANY: usize = 1_200;
    let (server, token) = served("10");
    for words in [
        &["PING"][..],
        &["ECHO", "a"],
        &["CONFIG", "GET", "save"],
        &["CLIENT", "ID"],
        &["AUTH", &token],
        &["FLUSHALL"],
        &["INCR"],
        &["DISCARD"],
    ] {
        let mut client = server.connect_as(&token);
        assert!(refused(&mut client, words, MANY) > 0, "{words:?}");
        let id = client.ask(&["INCR", "default"]);
        assert!(
            id.starts_with(':') || id.contains("10 requests a second"),
            "{id}"
        );
        // A new connection greets all the same.
        drop(server.connect_as(&token));
    }
}

/// What is wrong costs the server as much as what is answered: up to 1 MiB is read of it.
#[test]
fn requests_that_are_wrong_or_not_allowed_count_too() {
    let (server, token) = served("10");
    for words in [
        &["LEASE.RENEW", "{}", "REQUEST", "renewal-1"][..],
        &["LEASE.ACQUIRE", "default", "COUNT", "many"],
        &["ID.NEXT", "default", "COUNT", "x"],
        &["ID.INSPECT", "default", "!"],
        &["INCRBY", "default", "2"],
        &["INCR", "nowhere"],
    ] {
        let mut client = server.connect_as(&token);
        assert!(refused(&mut client, words, 200) > 0, "{words:?}");
    }
    for (path, body) in [
        ("/v1/leases", "{"),
        ("/v1/leases/renew", "{}"),
        ("/v1/leases?cuont=1", "{}"),
        ("/v1/tickets", "{}"),
        ("/v1/inspect", "{"),
    ] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answers = (0..200).map(|_| server.ask_http(&request));
        assert!(
            answers.any(|answer| answer.starts_with("HTTP/1.1 429 ")),
            "{path}"
        );
    }
}

#[test]
fn descriptions_count_as_ten_but_at_most_a_second() {
    let (server, token) = served("100");
    let mut client = server.connect_as(&token);
    assert!(client.ask(&["INFO"]).contains("namespace_default"));
    // Ten of them in a second.
    assert!(refused(&mut client, &["INFO"], 120) > 0);
    assert!(refused(&mut client, &["COMMAND"], 120) > 0);
    let (server, token) = served("1");
    let mut client = server.connect_as(&token);
    assert!(client.ask(&["INFO"]).contains("namespace_default"));
}

#[test]
fn a_request_about_many_ids_counts_as_many() {
    let (server, token) = served("500");
    let ask = |ids: usize| {
        let body = format!(r#"{{"ids":[{}]}}"#, vec![r#""1""#; ids].join(","));
        let head =
            format!("{INSPECT}authorization: Bearer {token}\r\ncontent-type: application/json");
        server.ask_http(&format!(
            "{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let told = ask(501);
    assert!(told.starts_with("HTTP/1.1 429 "), "{told}");
    assert!(
        told.contains("501 were asked for at once: ask for fewer"),
        "{told}"
    );
    assert!(ask(500).starts_with("HTTP/1.1 200 "));
    let answers = (0..20).map(|_| ask(500));
    assert!(
        answers
            .filter(|answer| answer.starts_with("HTTP/1.1 429 "))
            .count()
            > 0
    );
}

#[test]
fn overviews_count_as_fifty_requests() {
    let (server, token) = served("100");
    for path in ["/metrics", "/v1/status"] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        let answers = (0..40).map(|_| server.ask_http(&request));
        let refused = answers
            .filter(|answer| answer.starts_with("HTTP/1.1 429 "))
            .count();
        assert!(refused > 0, "{path}");
    }
    let probe = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(server.ask_http(probe).starts_with("HTTP/1.1 200 "));
}

#[test]
fn who_tries_tokens_without_end_is_sent_away() {
    let (server, token) = served("1");
    let mut client = server.connect();
    for _ in 0..100 {
        assert!(client.ask(&["AUTH", "guess"]).starts_with("-WRONGPASS"));
    }
    let told = client.ask(&["AUTH", &token]);
    assert!(
        told.starts_with("-NOAUTH 100 commands came without a token"),
        "{told}"
    );
    assert_eq!(client.rest(), "");
}
