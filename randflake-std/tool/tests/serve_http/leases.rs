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
        r#"{"count":3,"ttl_ms":30000,"holder":"import"}"#,
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
        .post(
            "/v1/leases/renew?request=renewal-1&ttl_ms=60000",
            &granted.to_string(),
        )
        .json(200);
    assert_eq!(nodes(&renewed), nodes(&granted));
    assert!(
        ends(&renewed)
            .iter()
            .zip(ends(&granted))
            .all(|(after, before)| *after > before)
    );

    let now = granted["now_unix_ms"].as_u64().unwrap();
    let path = format!("/v1/leases/release?request=release-1&unused_from_unix_ms={now}");
    let released = server.post(&path, &renewed.to_string());
    assert_eq!((released.status, released.body.len()), (204, 0));
    let after = server
        .post("/v1/leases/renew?request=renewal-2", &renewed.to_string())
        .json(200);
    assert_eq!(nodes(&after), [0_u64; 0]);
    assert_eq!(after["lost"].as_array().unwrap().len(), 3, "{after}");
}

/// As where its volume was unmounted: what it made there would be another store than that of its clients' leases.
#[test]
fn a_server_whose_store_is_gone_makes_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("leases.db").display());
    let server = Server::start_with(&["--store", &store]);
    let granted = server.post("/v1/leases", "{}").json(201);
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    fs::create_dir(folder.path()).unwrap();
    // Each kind of request has sessions of its own: that of the list is opened now.
    for answer in [
        server.get("/v1/leases"),
        server.post("/v1/leases", "{}"),
        server.post("/v1/leases/renew?request=renewal-1", &granted.to_string()),
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::remove_dir(folder.path()).unwrap();
    fs::rename(away, folder.path()).unwrap();
    let renewed = server.post("/v1/leases/renew?request=renewal-2", &granted.to_string());
    assert_eq!(nodes(&renewed.json(200)), nodes(&granted));
}

#[test]
fn the_command_line_renews_what_the_server_has_granted() {
    let server = Server::start();
    let granted = server.post("/v1/leases", "{}");
    let path = server.path("grant.json");
    fs::write(&path, &granted.body).unwrap();
    let renew = [
        "lease",
        "renew",
        "--json",
        "--request",
        "renewal-1",
        "--ttl",
        "60s",
        "--grant",
    ];
    let renewed = server.tool().args(renew).arg(&path).output().unwrap();
    assert!(renewed.status.success(), "{renewed:?}");
    let renewed: Value = serde_json::from_slice(&renewed.stdout).unwrap();
    assert_eq!(nodes(&renewed), nodes(&granted.json(201)));
}

#[test]
fn leases_may_be_renewed_and_released_elsewhere_in_between() {
    let server = Server::start();
    let granted = server.post("/v1/leases", r#"{"node_ids":[77],"ttl_ms":30000}"#);
    let path = server.path("grant.json");
    fs::write(&path, &granted.body).unwrap();
    let elsewhere = |words: &[&str]| {
        let mut tool = server.tool();
        let done = tool.arg("lease").args(words).arg("--grant").arg(&path);
        let done = done.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        done.stdout
    };
    let renew = ["renew", "--json", "--request", "renewal-1", "--ttl", "60s"];
    let renewed = String::from_utf8(elsewhere(&renew)).unwrap();
    let renewed = server.post("/v1/leases/renew?request=renewal-2", &renewed);
    assert_eq!(nodes(&renewed.json(200)), [77]);
    fs::write(&path, &renewed.body).unwrap();
    let unused = granted.json(201)["leases"][0]["start_unix_ms"].to_string();
    elsewhere(&[
        "release",
        "--request",
        "release-1",
        "--unused-from-ms",
        &unused,
    ]);
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
    let answer = server
        .post("/v1/leases/renew?request=renewal-1", &told.to_string())
        .json(200);
    assert_eq!(answer["lost"][0]["reason"], "forgotten", "{answer}");
    // No quarantine.
    let granted = server.post("/v1/leases", r#"{"node_ids":[999]}"#);
    assert_eq!(nodes(&granted.json(201)), [999]);
}

/// By another program, through another server.
#[test]
fn a_copied_grant_is_told_and_ends_nothing() {
    let server = Server::start();
    let other = server.replica();
    let granted = server.post("/v1/leases", r#"{"node_ids":[77]}"#);
    let mut original = granted.text().to_owned();
    for turn in 0..12 {
        let [own, others] = if turn % 2 == 0 {
            [&server, &other]
        } else {
            [&other, &server]
        };
        let renewed = own.post(
            &format!("/v1/leases/renew?request=original-{turn}"),
            &original,
        );
        assert_eq!(nodes(&renewed.json(200)), [77]);
        renewed.text().clone_into(&mut original);
        let copy = others.post(
            &format!("/v1/leases/renew?request=the-copy-{turn}"),
            granted.text(),
        );
        let copy = copy.json(200);
        assert_eq!(nodes(&copy), [0_u64; 0]);
        assert_eq!(copy["lost"][0]["reason"], "contested", "{copy}");
    }
    let refused = other.post("/v1/leases/release?request=the-copy-ends", granted.text());
    let detail = refused.problem(409, "conflict");
    assert!(
        detail.contains("77 are contested and not released"),
        "{detail}"
    );
    let listed = server.get("/v1/leases?from=77&limit=1").json(200);
    assert_eq!(listed["leases"][0]["state"], "contested", "{listed}");
    let released = server.post("/v1/leases/release?request=original-ends", &original);
    assert_eq!(released.status, 204);
}

/// The client asks and is gone before the answer; then it repeats the request, through another server.
#[test]
fn an_answer_that_was_lost_is_given_again() {
    let server = Server::start();
    let other = server.replica();
    let granted = server.post("/v1/leases", r#"{"node_ids":[77],"ttl_ms":30000}"#);
    let end = || {
        let listed = server.get("/v1/leases?from=77&limit=1").json(200);
        listed["leases"][0]["end_unix_ms"].as_u64().unwrap()
    };
    let first_end = end();
    let renew = "/v1/leases/renew?request=renewal-1&ttl_ms=60000";
    let _unread = server.post_unread(renew, granted.text());
    while end() == first_end {
        std::thread::yield_now();
    }
    let answers = [&other, &server, &other].map(|server| {
        let mut answer = server.post(renew, granted.text()).json(200);
        // When it was answered.
        answer["now_unix_ms"] = 0.into();
        answer
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(answers[0]["leases"][0]["end_unix_ms"], end());

    let renewed = answers[0].to_string();
    let start = &answers[0]["leases"][0]["start_unix_ms"];
    let release = format!("/v1/leases/release?request=release-1&unused_from_unix_ms={start}");
    let _unread = server.post_unread(&release, &renewed);
    let listed = || server.get("/v1/leases?from=77&limit=1").json(200);
    while nodes(&listed()).contains(&77) {
        std::thread::yield_now();
    }
    for server in [&other, &server] {
        assert_eq!(server.post(&release, &renewed).status, 204);
    }
}

#[test]
fn a_request_has_a_name_of_its_own() {
    let server = Server::start();
    let granted = server.post("/v1/leases", "{}");
    for path in ["/v1/leases/renew", "/v1/leases/release"] {
        for path in [path.to_owned(), format!("{path}?request=1")] {
            let detail = server.post(&path, granted.text()).problem(400, "invalid");
            assert!(detail.contains("new for each renewal"), "{path}: {detail}");
        }
    }
    let same = "/v1/leases/renew?request=always-the-same";
    let renewed = server.post(same, granted.text());
    assert_eq!(renewed.status, 200);
    let detail = server.post(same, renewed.text()).problem(400, "invalid");
    assert!(detail.contains("needs a new name"), "{detail}");
    let mut without = granted.json(201);
    without["leases"][0]
        .as_object_mut()
        .unwrap()
        .remove("nonce");
    let path = "/v1/leases/renew?request=renewal-1";
    let detail = server
        .post(path, &without.to_string())
        .problem(400, "invalid");
    assert!(detail.contains("nonce"), "{detail}");
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
        (r#"{"ttl_ms":86400000}"#, "1day", "1s to 1m"),
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
    let path = "/v1/leases/release?request=release-1&unused_from_unix_ms=1000";
    let detail = server.post(path, granted).problem(400, "invalid");
    assert!(detail.contains("Unix time in milliseconds is allowed"));
    assert!(!detail.contains("--"), "no option of a command: {detail}");
}
