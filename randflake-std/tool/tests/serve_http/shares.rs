//! What one client may take of a namespace that others need, too.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::client::Answer;
use crate::server::Server;

/// Node ids of the namespace `events`; the servers keep a sixteenth.
const ALL: usize = 1_024;
const RESERVED: usize = 64;
/// No quota of leases.
const ANY_RATE: [&str; 2] = ["--leases-per-second", "1000000"];

fn lease(server: &Server, token: &str, asked: &str) -> Answer {
    let headers = [
        ("authorization", &*format!("Bearer {token}")),
        ("content-type", "application/json"),
    ];
    server.request("POST", "/v1/leases?namespace=events", &headers, asked)
}

/// Leases node ids one at a time until none is free; says how many.
fn lease_all(server: &Server, token: &str) -> usize {
    let mut leased = 0;
    loop {
        let answer = lease(server, token, r#"{"ttl_ms":60000}"#);
        if answer.status != 201 {
            answer.problem(503, "busy");
            return leased;
        }
        leased += 1;
    }
}

#[test]
fn a_client_that_takes_all_it_gets_leaves_node_ids_to_new_servers() {
    let tenant = (["tenant", "leases", "events"], &ANY_RATE[..]);
    let (server, tokens) = Server::with_token_options(&[tenant]);
    let tenant = &tokens[0];
    let chosen = lease(&server, tenant, r#"{"node_ids":[960]}"#);
    let refused = chosen.problem(403, "forbidden");
    assert!(
        refused.contains("may not lease node id 960: 0 to 959 are allowed"),
        "{refused}"
    );
    let many = lease(&server, tenant, r#"{"count":900,"ttl_ms":60000}"#).json(201);
    for lease in many["leases"].as_array().unwrap() {
        assert!(lease["node"].as_u64().unwrap() < 960, "{lease}");
    }
    let leased = 900 + lease_all(&server, tenant);
    // The server itself may have one of them.
    let free = ALL - RESERVED;
    assert!((free - 1..=free).contains(&leased), "{leased}");
    for _ in 0..2 {
        let replica = server.replica();
        assert_eq!(replica.get("/readyz").status, 200);
        lease(&replica, tenant, "{}").problem(503, "busy");
    }
}

/// Each node id is granted once by the store, so that a range of them is a limit over all servers, also in a race.
#[test]
fn a_token_holds_no_more_than_its_node_ids() {
    let options = [&ANY_RATE[..], &["--node-ids", "10-19"]].concat();
    let few = (["few", "leases", "events"], &options[..]);
    let all = (["all", "leases", "events"], &ANY_RATE[..]);
    let (server, tokens) = Server::with_token_options(&[few, all]);
    let replica = server.replica();
    let told = lease(&server, &tokens[0], r#"{"node_ids":[9]}"#).problem(403, "forbidden");
    assert!(told.contains("10 to 19 are allowed"), "{told}");
    lease(&server, &tokens[0], r#"{"count":11}"#).problem(400, "invalid");
    let leased = AtomicUsize::new(0);
    thread::scope(|scope| {
        for server in [&server, &replica, &server, &replica] {
            let (leased, token) = (&leased, &tokens[0]);
            scope.spawn(move || leased.fetch_add(lease_all(server, token), Ordering::Relaxed));
        }
    });
    // The servers hold one of 1,024 each.
    assert!((8..=10).contains(&leased.into_inner()));
    // Others go on, and what they lease this one does not renew. Not a chosen one, which a server may hold.
    let other = lease(&replica, &tokens[1], "{}").json(201);
    let headers = [
        ("authorization", &*format!("Bearer {}", tokens[0])),
        ("content-type", "application/json"),
    ];
    let path = "/v1/leases/renew?request=renewal-1";
    let told = server.request("POST", path, &headers, &other.to_string());
    told.problem(403, "forbidden");
}

#[test]
fn a_namespace_in_quarantine_takes_no_server_from_the_others() {
    let (server, _) = Server::with_tokens(&[["any", "ids", "default"]]);
    let quarantine = [
        "lease",
        "quarantine",
        "--namespace",
        "events",
        "--layout",
        "snowflake",
    ];
    let done = server.tool().args(quarantine).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let replica = server.another("randflake: http at ");
    while replica.get("/readyz?namespace=default").status != 200
        || replica.get("/readyz?namespace=other").status != 200
        || !replica
            .get("/readyz")
            .text()
            .contains("grants nothing until")
    {
        thread::yield_now();
    }
    let told = replica.get("/readyz");
    assert_eq!(told.status, 200);
    assert!(
        told.text().starts_with("ready\na namespace: "),
        "{}",
        told.text()
    );
    assert_eq!(replica.get("/readyz?namespace=events").status, 503);
    assert_eq!(replica.get("/readyz?namespace=missing").status, 404);
    replica.get("/readyz?name=events").problem(400, "invalid");
}
