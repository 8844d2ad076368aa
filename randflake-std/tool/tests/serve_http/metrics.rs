//! `/metrics`, health, and the status of the page.

use crate::server::Server;

/// Value of a series, a whole number.
fn value(metrics: &str, series: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in {metrics}"));
    line.trim().parse().unwrap()
}

#[test]
fn metrics_count_what_was_asked_for_and_refused() {
    let server = Server::start();
    let ids = "randflake_serve_ids_total{namespace=\"default\"}";
    let refusals = "randflake_serve_refusals_total{kind=\"invalid\"}";
    let before = server.get("/metrics");
    assert_eq!(value(before.text(), ids), 0);
    server.get("/v1/ids?count=1234");
    server.get("/v1/ids?count=0");
    let after = server.get("/metrics");
    assert_eq!(value(after.text(), ids), 1234);
    assert_eq!(value(after.text(), refusals), 1);
    // The handle's thread reports once it runs.
    let held = "randflake_leases_held{namespace=\"default\"}";
    let mut asked = (0..1_000).map(|_| server.get("/metrics"));
    let told = asked.find(|answer| answer.text().contains(held)).unwrap();
    assert_eq!(value(told.text(), held), 1);
    for line in after.text().lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(
            series.starts_with("randflake_") && value.parse::<f64>().is_ok(),
            "{line}"
        );
    }
}

#[test]
fn the_status_says_what_the_store_and_the_server_know() {
    let server = Server::start_with(&["--reserved-node-ids", "0"]);
    server.get("/v1/ids?count=10");
    server
        .post("/v1/leases", r#"{"node_ids":[131071],"ttl_ms":60000}"#)
        .json(201);
    let status = server.get("/v1/status").json(200);
    assert_eq!(status["ready"], true);
    let namespace = &status["namespaces"][0];
    assert_eq!(namespace["name"], "default");
    assert_eq!(namespace["state"], "ready");
    assert_eq!(namespace["node_ids"], 131_072);
    assert_eq!(namespace["issued"], 10);
    assert_eq!(namespace["leases"]["held"], 2);
    let cells = namespace["map"]["cells"].as_str().unwrap();
    assert_eq!(cells.len(), 2_048);
    assert!(
        cells
            .strip_suffix('h')
            .is_some_and(|rest| rest.ends_with('.')),
        "{cells}"
    );
    assert_eq!(server.get("/readyz").text(), "ready\n");
    assert_eq!(server.get("/healthz").text(), "ok\n");
}

/// An editor, a full disk or a wrong mount: all tokens are revoked at once, and nobody is left who could read the metrics.
#[test]
fn a_file_of_tokens_that_is_emptied_is_told_to_whoever_looks() {
    let (server, tokens) = Server::with_tokens(&[["all", "admin,ids", "*"], ["one", "ids", "*"]]);
    let metrics = server.get_as(&tokens[0], "/metrics");
    assert_eq!(value(metrics.text(), "randflake_serve_tokens "), 2);
    let path = server.path("tokens");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    let refused = || server.get("/readyz").status == 503;
    while !refused() {
        std::thread::yield_now();
    }
    assert_eq!(
        server.get("/readyz").text(),
        "not ready\nno token is valid: every client is refused (--tokens)\n"
    );
    assert_eq!(server.get_as(&tokens[0], "/metrics").status, 401);
    assert_eq!(server.get("/healthz").status, 200);
    std::fs::write(&path, text).unwrap();
    while refused() {
        std::thread::yield_now();
    }
    assert_eq!(server.get_as(&tokens[0], "/metrics").status, 200);
}

/// Whoever takes a token out of a file that cannot be read believes it to be revoked.
#[test]
fn tokens_that_are_not_those_of_the_file_are_told() {
    let (server, tokens) = Server::with_tokens(&[["all", "admin", "*"], ["one", "admin", "other"]]);
    let stale = |token: &str, value: u8| {
        let metrics = server.get_as(token, "/metrics");
        metrics
            .text()
            .contains(&format!("randflake_serve_tokens_stale {value}\n"))
    };
    assert!(stale(&tokens[0], 0));
    let path = server.path("tokens");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("scopes=", "scope=")).unwrap();
    while !stale(&tokens[1], 1) {
        std::thread::yield_now();
    }
    let told = server.get_as(&tokens[1], "/readyz");
    assert_eq!(told.status, 200);
    assert!(
        told.text().contains("the file of tokens cannot be used"),
        "{}",
        told.text()
    );
    assert_eq!(server.get("/readyz").text(), "ready\n");
    std::fs::write(&path, text).unwrap();
    while !stale(&tokens[0], 0) {
        std::thread::yield_now();
    }
    // What all clients do together is for who administers all namespaces.
    let status = |token| server.get_as(token, "/v1/status").json(200);
    assert!(status(&tokens[0])["requests"]["http"].is_number());
    assert!(status(&tokens[0])["store"].is_string());
    assert!(status(&tokens[1])["requests"].is_null() && status(&tokens[1])["store"].is_null());
    let metrics = server.get_as(&tokens[1], "/metrics");
    assert!(!metrics.text().contains("randflake_serve_requests_total"));
}
