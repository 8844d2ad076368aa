//! Conditions that every answer keeps.

use core::str;

use axum::body::Body;
use axum::extract::Query;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request};
use randflake_std::Id;
use serde_json::Value;

use super::world::{Client, SEEN, World};
use crate::http::files::FILES;

/// Statuses that are the server's own.
const STATUSES: [u16; 15] = [
    200, 201, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 429, 503,
];
/// What a refusal says.
fn check_problem(status: u16, headers: &HeaderMap, body: &[u8]) {
    assert_eq!(headers["content-type"], "application/problem+json");
    let document: Value = serde_json::from_slice(body).unwrap();
    let problem = document.as_object().unwrap();
    let known = ["type", "title", "status", "detail", "retry_in_ms"];
    assert!(problem.keys().all(|key| known.contains(&&**key)));
    let name = problem["type"].as_str().unwrap();
    let kind = name.strip_prefix("urn:randflake:problem:").unwrap();
    assert_eq!(problem["status"], status);
    assert!(!problem["title"].as_str().unwrap().is_empty());
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        !detail.is_empty() && !detail.contains(char::is_control),
        "{detail:?}"
    );
    // Node ids run out; nothing else is the server's trouble, and no request is made the store's.
    assert!(status < 500 || kind == "busy", "{detail}");
    assert!(!detail.contains("quarantine"), "{detail}");
}

/// Every namespace that a document names is one that the client sees.
fn check_namespaces(client: Client, value: &Value) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| check_namespaces(client, value)),
        Value::Object(members) => {
            if let Some(Value::String(name)) = members.get("namespace") {
                assert!(client.sees(name), "{name}");
            }
            for own in members
                .get("namespaces")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                assert!(client.sees(own["name"].as_str().unwrap()));
            }
            members
                .values()
                .for_each(|value| check_namespaces(client, value));
        }
        _ => {}
    }
}

/// What the client must have for that path.
fn check_right(client: Client, method: &Method, path: &str) {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let is_free =
        path == "/healthz" || path == "/readyz" || FILES.iter().any(|file| file.path == path);
    let allowed = match path {
        _ if is_free => is_read,
        "/v1/ids" | "/v1/numbers" => is_read && client.has("ids"),
        "/v1/leases" if is_read => client.has("leases") || client.has("admin"),
        "/v1/leases" | "/v1/leases/renew" | "/v1/leases/release" | "/v1/tickets" => {
            *method == Method::POST && client.has("leases")
        }
        "/v1/inspect" => (is_read || *method == Method::POST) && client.has("inspect"),
        "/v1/explain" => is_read && client.has("inspect"),
        "/v1/devices" => (is_read || *method == Method::POST) && client.has("admin"),
        "/v1/status" | "/metrics" => is_read && client.has("admin"),
        _ => false,
    };
    assert!(allowed, "{method} {path}");
}

/// As many ids as were asked for, in the form that was chosen.
fn check_ids(world: &World, asked: &Parts, client: Client, headers: &HeaderMap, body: &[u8]) {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&asked.uri).unwrap();
    let find = |name| {
        pairs
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| &**value)
    };
    let count: usize = find("count").map_or(1, |count| count.parse().unwrap());
    let namespace = find("namespace").unwrap_or(SEEN);
    assert!(client.sees(namespace));
    let kind = headers["content-type"].to_str().unwrap();
    let ids: Vec<Id> = match kind.split(';').next().unwrap() {
        "application/octet-stream" => {
            let (ids, rest) = body.as_chunks();
            assert!(rest.is_empty());
            ids.iter()
                .map(|&id| Id::from_u64(u64::from_le_bytes(id)))
                .collect()
        }
        "text/plain" => {
            let text = str::from_utf8(body).unwrap();
            let is_int = find("format") == Some("int");
            text.lines()
                .map(|line| match is_int {
                    true => Id::from_i64(line.parse().unwrap()),
                    false => line.parse().unwrap(),
                })
                .collect()
        }
        "application/json" => {
            let document: Value = serde_json::from_slice(body).unwrap();
            let ids = document["ids"].as_array().unwrap().iter();
            ids.map(|id| id["text"].as_str().unwrap().parse().unwrap())
                .collect()
        }
        other => panic!("{other}"),
    };
    assert_eq!(ids.len(), count);
    world.check_ids(namespace, ids);
}

/// As many leases as were asked for, which their client renews and releases.
fn check_leases(world: &World, client: Client, asked: &[u8], granted: &Value) {
    let asked: Value = serde_json::from_slice(asked).unwrap();
    let nodes = asked["node_ids"].as_array();
    let count = nodes.map_or(asked["count"].as_u64().unwrap_or(1), |nodes| {
        nodes.len() as u64
    });
    assert_eq!(granted["leases"].as_array().unwrap().len() as u64, count);
    let renew = "/v1/leases/renew?request=renewal-1";
    let (status, renewed) = world.post(client, renew, granted);
    assert_eq!(status, 200);
    let renewed: Value = serde_json::from_slice(&renewed).unwrap();
    let start = &granted["leases"][0]["start_unix_ms"];
    let release = format!("/v1/leases/release?request=release-1&unused_from_unix_ms={start}");
    // A copy of the document from before the renewal.
    assert_eq!(world.post(client, &release, granted).0, 409);
    assert_eq!(world.post(client, &release, &renewed).0, 204);
}

/// Answers a request, and returns the status.
pub(super) fn check(
    world: &World,
    client: Client,
    asked: &Parts,
    sent: &[u8],
    request: Request<Body>,
) -> u16 {
    let (status, headers, body) = world.ask(request);
    assert!(STATUSES.contains(&status), "{status}");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    if asked.method == Method::HEAD {
        assert!(body.is_empty());
        return status;
    }
    if status >= 400 {
        check_problem(status, &headers, &body);
        return status;
    }
    let path = asked.uri.path();
    check_right(client, &asked.method, path);
    let json = headers
        .get("content-type")
        .is_some_and(|kind| kind == "application/json");
    let document: Value = if json {
        serde_json::from_slice(&body).unwrap()
    } else {
        Value::Null
    };
    if path != "/openapi.json" {
        check_namespaces(client, &document);
    }
    match (path, status) {
        ("/v1/ids", 200) => check_ids(world, asked, client, &headers, &body),
        ("/v1/leases", 201) => check_leases(world, client, sent, &document),
        ("/metrics", 200) => {
            let text = str::from_utf8(&body).unwrap();
            assert!(client.sees_all || !text.contains("namespace=\"hidden\""));
        }
        _ => {}
    }
    status
}
