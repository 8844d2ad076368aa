//! The `OpenAPI` description: it names what is there.

use serde_json::Value;

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
