//! `/v1/leases`: the life of a lease.

use std::fs;

use serde_json::Value;

use crate::server::Server;

fn nodes(document: &Value) -> Vec<u64> {
    let leases = document["leases"].as_array().unwrap().iter();
    leases
        .map(|lease| lease["node"].as_u64().unwrap())
        .collect()
}

fn ends(document: &Value) -> Vec<u64> {
    let leases = document["leases"].as_array().unwrap().iter();
    leases
        .map(|lease| lease["end_tick"].as_u64().unwrap())
        .collect()
}

#[test]
fn leases_are_acquired_renewed_and_released() {
    let server = Server::start();
    let granted = server.post(
        "/v1/leases",
        r#"{"count":3,"ttl_ms":60000,"holder":"import"}"#,
    );
    let granted = granted.json(201);
    assert_eq!(nodes(&granted).len(), 3);
    assert!(granted["holder"].as_str().unwrap().starts_with("import/"));

    let listed = server.get("/v1/leases").json(200);
    assert_eq!(
        nodes(&listed).len(),
        4,
        "those, and that of the server: {listed}"
    );
    assert!(
        !listed
            .to_string()
            .contains(granted["leases"][0]["token"].as_str().unwrap())
    );

    let renewed = server
        .post("/v1/leases/renew?ttl_ms=120000", &granted.to_string())
        .json(200);
    assert_eq!(nodes(&renewed), nodes(&granted));
    assert!(
        ends(&renewed)
            .iter()
            .zip(ends(&granted))
            .all(|(after, before)| *after > before)
    );

    let now = granted["now_unix_ms"].as_u64().unwrap();
    let path = format!("/v1/leases/release?unused_from_unix_ms={now}");
    let released = server.post(&path, &renewed.to_string());
    assert_eq!((released.status, released.body.len()), (204, 0));
    let after = server
        .post("/v1/leases/renew", &renewed.to_string())
        .json(200);
    assert_eq!(nodes(&after), [0_u64; 0]);
    assert_eq!(after["lost"].as_array().unwrap().len(), 3, "{after}");
}

#[test]
fn the_command_line_renews_what_the_server_has_granted() {
    let server = Server::start();
    let granted = server.post("/v1/leases", "{}");
    let path = server.path("grant.json");
    fs::write(&path, &granted.body).unwrap();
    let renew = ["lease", "renew", "--json", "--ttl", "2m", "--grant"];
    let renewed = server.tool().args(renew).arg(&path).output().unwrap();
    assert!(renewed.status.success(), "{renewed:?}");
    let renewed: Value = serde_json::from_slice(&renewed.stdout).unwrap();
    assert_eq!(nodes(&renewed), nodes(&granted.json(201)));
}

#[test]
fn leases_may_be_renewed_and_released_elsewhere_in_between() {
    let server = Server::start();
    let granted = server.post("/v1/leases", r#"{"node_ids":[77],"ttl_ms":240000}"#);
    let path = server.path("grant.json");
    fs::write(&path, &granted.body).unwrap();
    let elsewhere = |words: &[&str]| {
        let mut tool = server.tool();
        let done = tool.arg("lease").args(words).arg("--grant").arg(&path);
        let done = done.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    elsewhere(&["renew", "--json", "--ttl", "4m"]);
    let renewed = server.post("/v1/leases/renew", granted.text()).json(200);
    assert_eq!(nodes(&renewed), [77], "{renewed}");
    let unused = granted.json(201)["leases"][0]["start_unix_ms"].to_string();
    elsewhere(&["release", "--unused-from-ms", &unused]);
    // Before the end that this server knows.
    let next = server.post("/v1/leases", r#"{"node_ids":[77]}"#);
    assert_eq!(nodes(&next.json(201)), [77]);
}

#[test]
fn what_a_client_tells_is_no_proof_against_the_store() {
    let server = Server::start();
    let mut told = server.post("/v1/leases", "{}").json(201);
    let lease = &mut told["leases"][0];
    lease["node"] = 999.into();
    lease["end_tick"] = (lease["end_tick"].as_u64().unwrap() + 1_000_000).into();
    let answer = server.post("/v1/leases/renew", &told.to_string()).json(200);
    assert_eq!(answer["lost"][0]["reason"], "forgotten", "{answer}");
    // No quarantine.
    let granted = server.post("/v1/leases", r#"{"node_ids":[999]}"#);
    assert_eq!(nodes(&granted.json(201)), [999]);
}

#[test]
fn a_list_comes_in_pages() {
    let server = Server::start();
    let granted = server.post("/v1/leases", r#"{"count":6}"#).json(201);
    let mut found = Vec::new();
    let mut from = Some(0);
    while let Some(first) = from {
        let page = server
            .get(&format!("/v1/leases?limit=2&from={first}"))
            .json(200);
        assert!(nodes(&page).len() <= 2);
        found.extend(nodes(&page));
        from = page["next"].as_u64();
    }
    assert_eq!(found.len(), 7);
    assert!(found.is_sorted());
    assert!(nodes(&granted).iter().all(|node| found.contains(node)));
}

#[test]
fn what_cannot_be_leased_is_said() {
    let server = Server::start();
    let taken = server.post("/v1/leases", r#"{"node_ids":[77]}"#);
    assert_eq!(nodes(&taken.json(201)), [77]);
    let refused = server.post("/v1/leases", r#"{"node_ids":[77]}"#);
    refused.problem(503, "busy");
    assert!(refused.json(503)["retry_in_ms"].as_u64().unwrap() > 0);
    assert!(refused.header("retry-after").is_some());
    for (body, found, allowed) in [
        (r#"{"node_ids":[131072]}"#, "131072", "0 to 131071"),
        (r#"{"count":1001}"#, "1001", "1 to 1000"),
        (r#"{"ttl_ms":86400000}"#, "1day", "5m"),
        (
            r#"{"holder":"device/1"}"#,
            "device/1",
            "do not begin with device/",
        ),
        (
            r#"{"count":2,"node_ids":[7]}"#,
            "a count and node ids",
            "one of them",
        ),
        (r#"{"many":1}"#, "many", "`count`"),
    ] {
        let detail = server.post("/v1/leases", body).problem(400, "invalid");
        assert!(
            detail.contains(found) && detail.contains(allowed),
            "{body}: {detail}"
        );
    }
    let granted = taken.text();
    let path = "/v1/leases/release?unused_from_unix_ms=1000";
    let detail = server.post(path, granted).problem(400, "invalid");
    assert!(detail.contains("Unix time in milliseconds is allowed"));
    assert!(!detail.contains("--"), "no option of a command: {detail}");
}
