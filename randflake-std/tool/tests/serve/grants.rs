//! Grants that are copied, and answers that are lost.

use serde_json::Value;

use crate::client::Client;
use crate::server::{Server, wait_until};

fn json(reply: &str) -> Value {
    serde_json::from_str(reply).unwrap_or_else(|_| panic!("{reply}"))
}

/// An answer that is JSON, as it was sent.
fn ask(client: &mut Client, words: &[&str]) -> String {
    client.ask(words).replace("\\\"", "\"")
}

fn acquire(client: &mut Client) -> String {
    let words = ["LEASE.ACQUIRE", "default", "NODES", "77", "EX", "30"];
    ask(client, &words)
}

fn renew(client: &mut Client, document: &str, request: &str) -> String {
    let words = ["LEASE.RENEW", document, "REQUEST", request, "EX", "60"];
    ask(client, &words)
}

/// A server, and another one of the same store.
fn servers() -> [Server; 2] {
    let first = Server::start();
    let second = Server::start_with(first.home().beside(), &[]);
    [first, second]
}

#[test]
fn a_copied_grant_is_told_and_ends_nothing() {
    let servers = servers();
    let mut clients = [0, 1].map(|server: usize| servers[server].connect());
    let granted = acquire(&mut clients[0]);
    let mut original = granted.clone();
    for turn in 0..12 {
        original = renew(
            &mut clients[turn % 2],
            &original,
            &format!("original-{turn}"),
        );
        assert_eq!(json(&original)["leases"][0]["node"], 77);
        let other = &mut clients[(turn + 1) % 2];
        let copy = json(&renew(other, &granted, &format!("the-copy-{turn}")));
        assert_eq!(copy["lost"][0]["reason"], "contested", "{copy}");
    }
    let release = |document: &str, client: &mut Client| {
        client.ask(&["LEASE.RELEASE", document, "REQUEST", "release-1"])
    };
    let refused = release(&granted, &mut clients[0]);
    assert!(
        refused.starts_with("-ERR the leases of node ids 77 are contested"),
        "{refused}"
    );
    let renewed = renew(&mut clients[1], &original, "original-last");
    assert_eq!(json(&renewed)["leases"][0]["node"], 77);
    assert_eq!(release(&renewed, &mut clients[0]), "+OK");
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let servers = servers();
    let mut clients = [0, 1].map(|server: usize| servers[server].connect());
    let granted = acquire(&mut clients[0]);
    let mut listed = |of: &str| {
        let listed = clients[0].ask(&["LEASE.LIST", "default", "FROM", "77", "COUNT", "1"]);
        listed.contains(of)
    };
    let first_end = json(&granted)["leases"][0]["end_unix_ms"].to_string();
    let asked = ["LEASE.RENEW", &granted, "REQUEST", "renewal-1", "EX", "60"];
    // Its answer stays unread.
    let mut gone = servers[0].connect();
    gone.send(&Client::command(&asked));
    wait_until("it was not renewed", || !listed(&first_end));
    let answers = [1, 0, 1].map(|server: usize| {
        let mut answer = json(&ask(&mut clients[server], &asked));
        // When it was answered.
        answer["now_unix_ms"] = 0.into();
        answer
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let renewed = answers[0].to_string();
    let start = answers[0]["leases"][0]["start_unix_ms"].to_string();
    let release = [
        "LEASE.RELEASE",
        &renewed,
        "REQUEST",
        "release-1",
        "UNUSED-FROM",
        &start,
    ];
    for server in [0, 1] {
        assert_eq!(clients[server].ask(&release), "+OK");
    }
}

#[test]
fn a_request_has_a_name_of_its_own() {
    let server = Server::start();
    let mut client = server.connect();
    let granted = acquire(&mut client);
    let told = client.ask(&["LEASE.RENEW", &granted, "EX", "60"]);
    assert!(told.starts_with("-ERR the request has no name"), "{told}");
    let told = renew(&mut client, &granted, "1");
    assert!(told.contains("new for each renewal"), "{told}");
    let renewed = renew(&mut client, &granted, "always-the-same");
    let told = renew(&mut client, &renewed, "always-the-same");
    assert!(told.contains("needs a new name"), "{told}");
}

/// Another client knows a device's lease from the list.
#[test]
fn the_lease_of_a_device_is_renewed_by_its_tickets_alone() {
    let server = Server::start();
    let mut client = server.connect();
    let tool = |words: &[&str]| {
        let mut tool = server.home().tool(words);
        let key = "000102030405060708090a0b0c0d0e0f";
        let output = tool.env("RANDFLAKE_TICKET_KEY", key).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    tool(&["lease", "device", "d0e5", "--counter", "0"]);
    tool(&["lease", "ticket", "--device", "d0e5", "--ttl-s", "30"]);
    let rows = || ask(&mut server.connect(), &["LEASE.LIST", "default"]);
    let listed = rows();
    let row = listed.split(' ').find(|row| row.contains("device/"));
    let row: Value = json(row.unwrap());
    let mut forged = json(&acquire(&mut client));
    for name in ["node", "start_unix_ms", "end_unix_ms", "fencing_token"] {
        forged["leases"][0][name] = row[name].clone();
    }
    let forged = forged.to_string();
    let renewed = json(&renew(&mut client, &forged, "renewal-1"));
    assert_eq!(renewed["lost"][0]["node"], row["node"], "{renewed}");
    let release = ["LEASE.RELEASE", &forged, "REQUEST", "release-1"];
    client.ask(&release);
    assert!(rows().contains(&format!("\"end_unix_ms\":{}", row["end_unix_ms"])));
    let held = [
        "LEASE.ACQUIRE",
        "default",
        "HOLDER",
        "device/000000000000d0e5",
    ];
    let told = client.ask(&held);
    assert!(told.contains("do not begin with device/"), "{told}");
}
