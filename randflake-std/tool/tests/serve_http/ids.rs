//! The paths `/v1/ids` and `/v1/inspect`.

use std::collections::BTreeSet;

use randflake_std::Id;

use crate::server::Server;

#[test]
fn every_format_has_the_ids_that_were_asked_for() {
    let server = Server::start();
    let mut all: Vec<i64> = Vec::new();

    let answer = server.get("/v1/ids?count=600");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let read = answer.json(200);
    assert_eq!(read["namespace"], "default");
    for id in read["ids"].as_array().unwrap() {
        let text = Id::from_text(id["text"].as_str().unwrap().as_bytes()).unwrap();
        let int: i64 = id["int"].as_str().unwrap().parse().unwrap();
        assert_eq!(text.to_i64(), int);
        all.push(int);
    }
    let answer = server.get("/v1/ids?count=600&format=text&namespace=default");
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let ids = answer.text().lines();
    all.extend(ids.map(|line| Id::from_text(line.as_bytes()).unwrap().to_i64()));
    let answer = server.get("/v1/ids?format=int&count=600");
    all.extend(
        answer
            .text()
            .lines()
            .map(|line| line.parse::<i64>().unwrap()),
    );
    let answer = server.get("/v1/ids?format=raw&count=600");
    assert_eq!(
        answer.header("content-type"),
        Some("application/octet-stream")
    );
    let (ids, []) = answer.body.as_chunks() else {
        panic!("{} bytes", answer.body.len());
    };
    all.extend(ids.iter().map(|id| i64::from_le_bytes(*id)));

    assert_eq!(all.len(), 4 * 600);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    // All of this server: their fields say so.
    let ids: Vec<_> = all.iter().take(1_000).map(i64::to_string).collect();
    let body = serde_json::json!({ "ids": ids, "form": "int" });
    let fields = server.post("/v1/inspect", &body.to_string()).json(200);
    let fields = fields["ids"].as_array().unwrap();
    assert_eq!(fields.len(), 1_000);
    assert!(fields.iter().all(|id| id["node"] == fields[0]["node"]));
}

#[test]
fn the_most_that_is_allowed_comes_and_more_is_refused() {
    let server = Server::start();
    let answer = server.get("/v1/ids?count=100000&format=raw");
    assert_eq!((answer.status, answer.body.len()), (200, 800_000));
    let detail = server.get("/v1/ids?count=100001").problem(400, "invalid");
    assert!(
        detail.contains("100001") && detail.contains("1 to 100000"),
        "{detail}"
    );
}

#[test]
fn the_format_is_that_of_the_parameter_or_of_the_header() {
    let server = Server::start();
    let ask = |path: &str, accept: &str| server.request("GET", path, &[("accept", accept)], "");
    let kind = |path: &str, accept: &str| {
        let answer = ask(path, accept);
        answer.header("content-type").unwrap().to_owned()
    };
    assert_eq!(kind("/v1/ids", "*/*"), "application/json");
    assert_eq!(kind("/v1/ids", "text/plain"), "text/plain; charset=utf-8");
    assert_eq!(
        kind("/v1/ids?format=raw", "application/*"),
        "application/octet-stream"
    );
    let detail = ask("/v1/ids?format=raw", "application/json").problem(406, "not_acceptable");
    assert!(detail.contains("application/octet-stream"), "{detail}");
    ask("/v1/ids", "image/png").problem(406, "not_acceptable");
}

/// The example that the project publishes.
#[test]
fn fields_are_those_of_the_command_line() {
    let server = Server::start();
    let told = server
        .tool()
        .args(["inspect", "--json", "3vgoe12ccb8gh"])
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    for path in [
        "/v1/inspect?id=3vgoe12ccb8gh",
        "/v1/inspect?id=4594531474933654033&form=int",
    ] {
        assert_eq!(server.get(path).json(200)["ids"][0], told, "{path}");
    }
    let detail = server.get("/v1/inspect?id=3VGOE").problem(400, "invalid");
    assert!(
        detail.contains("3VGOE") && detail.contains("0-9 and a-v"),
        "{detail}"
    );
    let detail = server
        .get("/v1/inspect?id=1&form=roman")
        .problem(400, "invalid");
    assert!(
        detail.contains("roman") && detail.contains("base58"),
        "{detail}"
    );
}

#[test]
fn who_issued_an_id_is_told() {
    let server = Server::start();
    let id = server.get("/v1/ids?format=text");
    let told = server
        .get(&format!("/v1/explain?id={}", id.text().trim()))
        .json(200);
    assert_eq!(told["verdict"], "held", "{told}");
    let leases = server.get("/v1/leases").json(200);
    assert_eq!(told["lease"]["holder"], leases["leases"][0]["holder"]);
    assert_eq!(told["gaps"], serde_json::json!([]));
    // The published example: nobody had that lease here, in 2024.
    let told = server.get("/v1/explain?id=3vgoe12ccb8gh").json(200);
    assert_ne!(told["verdict"], "held");
    assert_eq!(told["lease"], serde_json::Value::Null);
    server.get("/v1/explain").problem(400, "invalid");
}

#[test]
fn ids_of_53_bits_are_numbers_and_larger_ones_are_refused() {
    let server = Server::start_with(&["--layout", "randflake53"]);
    let read = server
        .get("/v1/ids?count=600&namespace=randflake53")
        .json(200);
    let ids = read["ids"].as_array().unwrap();
    let numbers: BTreeSet<u64> = ids
        .iter()
        .map(|id| id["number"].as_u64().unwrap())
        .collect();
    assert!(numbers.len() == 600 && numbers.last() < Some(&(1 << 53)));
    assert!(
        ids.iter()
            .all(|id| id["int"].as_str() == Some(&*id["number"].to_string()))
    );
    let inspect = |number: &str| {
        let body = serde_json::json!({ "ids": [number], "form": "int" });
        server.post("/v1/inspect?namespace=randflake53", &body.to_string())
    };
    let fields = inspect(ids[0]["int"].as_str().unwrap()).json(200);
    assert_eq!(fields["ids"][0]["number"], ids[0]["number"]);
    let told = inspect("9007199254740992").problem(400, "invalid");
    assert!(
        told.contains("id 9007199254740992 is out of range: 0 to 9007199254740991"),
        "{told}"
    );
}
