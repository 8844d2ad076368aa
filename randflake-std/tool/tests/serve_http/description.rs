//! The `OpenAPI` description, and the rules and dashboard of `docs/operations`: they name what is
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn each_operation_is_there_and_allows_no_other_method() {
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() >= 10);
    for (path, methods) in paths {
        let methods: Vec<_> = methods.as_object().unwrap().keys().collect();
        for method in &methods {
            let answer = server.request(&method.to_uppercase(), path, &[], "");
            assert!(
                ![404, 405].contains(&answer.status),
                "{method} {path}: {}",
                answer.text()
            );
        }
        let answer = server.request("DELETE", path, &[], "");
        answer.problem(405, "method_not_allowed");
        let allowed = answer.header("allow").unwrap().to_lowercase();
        let allowed: Vec<_> = allowed
            .split(',')
            .filter(|method| *method != "head")
            .collect();
        assert!(
            methods.iter().all(|method| allowed.contains(&&***method)),
            "{path}: {allowed:?}"
        );
        assert_eq!(methods.len(), allowed.len(), "{path}: {allowed:?}");
    }
}

/// A developer who adds a route may forget to describe it: of what is not described nothing else
/// here knows.
#[test]
fn each_route_is_described_and_in_the_guide() {
    let routes = include_str!("../../../serve/src/http/mod.rs").split(".route(\"");
    let routes: Vec<_> = routes
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(
        routes.contains(&"/v1/ids") && routes.len() >= 10,
        "{routes:?}"
    );
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    let guide = include_str!("../../../../docs/serve.md");
    for route in routes {
        assert!(
            description["paths"][route].is_object(),
            "openapi.json: {route}"
        );
        assert!(guide.contains(route), "docs/serve.md: {route}");
    }
}

#[test]
fn every_reference_leads_to_something() {
    fn walk(whole: &Value, part: &Value) -> usize {
        match part {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| match value.as_str() {
                    Some(path) if name == "$ref" => {
                        let path = path.strip_prefix('#').unwrap();
                        assert!(whole.pointer(path).is_some(), "{path}");
                        1
                    }
                    _ => walk(whole, value),
                })
                .sum(),
            Value::Array(values) => values.iter().map(|value| walk(whole, value)).sum(),
            _ => 0,
        }
    }
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    assert!(walk(&description, &description) > 50);
}

/// To JSON Schema `1.0` is an integer, and no schema says otherwise: the text has to.
#[test]
fn integers_have_no_fraction_and_no_exponent() {
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    let text = description["info"]["description"].as_str().unwrap();
    assert!(text.contains("without a fraction or an exponent: 1, not 1.0"));
    for number in ["1.0", "1e0"] {
        for member in ["count", "ttl_ms"] {
            let body = format!("{{\"{member}\":{number}}}");
            server.post("/v1/leases", &body).problem(400, "invalid");
        }
        let path = format!("/v1/ids?count={number}");
        server.get(&path).problem(400, "invalid");
    }
}

/// What the server refuses beyond types and ranges, and where the description says so.
#[test]
fn what_is_refused_is_not_described_as_allowed() {
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    let schema = |path: &str| {
        let found = description.pointer(&format!("/components/schemas/{path}"));
        found.unwrap_or_else(|| panic!("{path}")).clone()
    };
    for (body, path, told) in [
        (
            r#"{"count":1,"node_ids":[1]}"#,
            "Acquire/not/required",
            json!(["count", "node_ids"]),
        ),
        (
            r#"{"holder":"device/1"}"#,
            "Acquire/properties/holder/pattern",
            json!("^(?!device(/|$))[ -~]+$"),
        ),
        (
            r#"{"holder":"a\n"}"#,
            "Acquire/properties/holder/pattern",
            json!("^(?!device(/|$))[ -~]+$"),
        ),
    ] {
        server.post("/v1/leases", body).problem(400, "invalid");
        assert_eq!(schema(path), told);
    }
    let mut grant = server.post("/v1/leases", "{}").json(201);
    let renew = "/v1/leases/renew?request=12345678";
    let ttl = server.post(&format!("{renew}&ttl_ms=0"), &grant.to_string());
    ttl.problem(400, "invalid");
    let ttl = "/paths/~1v1~1leases~1renew/post/parameters/1/schema/minimum";
    assert_eq!(description.pointer(ttl), Some(&json!(1)));
    grant["leases"] = json!([]);
    for path in [renew, "/v1/leases/release?request=12345678"] {
        let refused = server.post(path, &grant.to_string());
        refused.problem(400, "invalid");
    }
    let least = "ClientGrant/allOf/1/properties/leases/minItems";
    assert_eq!(schema(least), 1);
    let refused = ["", " ", "a_", "_0", "A_0", "1_0", "a__0"];
    let any_id = pattern(&description, "AnyId");
    for id in refused {
        assert!(!any_id.is_match(id), "{id}");
        let query = id.replace(' ', "%20");
        for path in ["inspect", "explain"] {
            let path = format!("/v1/{path}?id={query}");
            server.get(&path).problem(400, "invalid");
        }
        let ids = server.post("/v1/inspect", &json!({"ids": [id]}).to_string());
        ids.problem(400, "invalid");
    }
}

fn pattern(description: &Value, schema: &str) -> Regex {
    let pattern = &description["components"]["schemas"][schema]["pattern"];
    Regex::new(pattern.as_str().unwrap()).unwrap()
}

/// Each request about an id takes typed ones, as its examples are; what is answered has no prefix.
#[test]
fn ids_are_taken_as_they_are_described() {
    let server = Server::start();
    let description = server.get("/openapi.json").json(200);
    let (any_id, text) = (
        pattern(&description, "AnyId"),
        pattern(&description, "IdText"),
    );
    let longest = format!("{}_0", "a".repeat(32));
    for id in ["ord_3vgoe12ccb8gh", "a_0", "a1_b_3vgoe12ccb8gh", &longest] {
        assert!(any_id.is_match(id), "{id}");
        let one = server.get(&format!("/v1/inspect?id={id}")).json(200);
        let body = json!({"ids": [id]}).to_string();
        assert_eq!(server.post("/v1/inspect", &body).json(200), one);
        let explained = server.get(&format!("/v1/explain?id={id}")).json(200);
        for answered in [&one["ids"][0]["text"], &explained["text"]] {
            assert!(text.is_match(answered.as_str().unwrap()), "{answered}");
        }
    }
    let longer = format!("a{longest}");
    assert!(!any_id.is_match(&longer));
    let refused = server.get(&format!("/v1/inspect?id={longer}"));
    refused.problem(400, "invalid");
    // Also in other forms than `text`, whose ids have no prefix.
    let schemas = &description["components"]["schemas"];
    let parameter = &description["components"]["parameters"]["Id"]["examples"];
    let parameter = parameter.as_object().unwrap().values();
    let examples: Vec<_> = parameter
        .map(|example| &example["value"])
        .chain(schemas["AnyId"]["examples"].as_array().unwrap())
        .filter_map(Value::as_str)
        .collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for id in examples {
        assert!(any_id.is_match(id), "{id}");
        let digits = id.bytes().all(|byte| byte.is_ascii_digit());
        let form = if digits { "int" } else { "text" };
        let path = format!("/v1/inspect?id={id}&form={form}");
        server.get(&path).json(200);
    }
}

type Labels = BTreeMap<String, String>;

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A name, and labels of which Prometheus adds none; a namespace may have any name.
fn series(text: &str) -> (String, Labels) {
    let (name, labels) = text.split_once('{').unwrap_or((text, ""));
    let labels = labels.trim_end_matches('}').split(',');
    let pairs = labels.filter_map(|label| label.trim().split_once('='));
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned()));
    let mut labels: Labels = pairs
        .filter(|(key, _)| key != "instance" && key != "job")
        .collect();
    if let Some(namespace) = labels.get_mut("namespace") {
        namespace.clear();
    }
    (name.to_owned(), labels)
}

/// The names of this project's metrics in expressions.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("randflake_"));
    // The datasource's variable, and files.
    metrics
        .filter(|word| word.matches('_').count() > 1)
        .collect()
}

#[test]
fn rules_and_dashboard_name_exported_series() {
    let server = Server::start();
    // The handle's thread reports once it runs.
    let mut asked = (0..1_000).map(|_| server.get("/metrics"));
    let metrics = asked
        .find(|answer| answer.text().contains("_lease_expires_"))
        .unwrap();
    let lines = metrics.text().lines().filter(|line| !line.starts_with('#'));
    let exported: BTreeSet<_> = lines
        .map(|line| series(line.rsplit_once(' ').unwrap().0))
        .collect();
    let known: BTreeSet<&str> = exported.iter().map(|(name, _)| &**name).collect();
    for file in ["alerts.yml", "alerts_test.yml", "dashboard.json"] {
        let text = document(file);
        let unknown: Vec<_> = names(&text).difference(&known).copied().collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?} of {known:?}");
    }
    let tests = document("alerts_test.yml");
    let given = tests.split("series: '").skip(1);
    for text in given.map(|rest| rest.split('\'').next().unwrap()) {
        if text.starts_with("randflake_") {
            assert!(exported.contains(&series(text)), "{text}: {exported:?}");
        }
    }
}
