//! The request log of the service.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::Value;

use crate::server::{Home, Server, wait_until};

#[test]
fn requests_are_noted_without_secrets() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    let arguments = [
        "--tokens",
        "tokens",
        "--request-log",
        "--http",
        "127.0.0.1:0",
    ];
    let server = Server::start_with(home, &arguments);
    let mut client = server.connect();
    let wrong = "rft_guess";
    client.ask(&["AUTH", wrong]);
    client.ask(&["AUTH", &token]);
    client.ask(&["INCR", "default"]);
    client.ask(&["ID.NEXT", wrong]);
    // Somebody who has mistaken it for the command.
    client.ask(&[&token]);
    let log = server.home().log();
    let (_, http) = log.split_once("http at ").unwrap();
    let mut http = TcpStream::connect(http.lines().next().unwrap()).unwrap();
    write!(http, "{token} /v1/ids HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let notes = || -> Vec<Value> {
        let log = server.home().log();
        let lines = log.lines().filter(|line| line.starts_with('{'));
        let lines = lines.map_while(|line| serde_json::from_str(line).ok());
        lines.collect()
    };
    wait_until("not all is noted", || notes().len() == 6);
    let told = |note: &Value| {
        let fields = ["token", "request", "namespace", "answer"].map(|name| &note[name]);
        fields.map(|field| field.as_str().unwrap_or("-").to_owned())
    };
    let expected = [
        ["-", "auth", "-", "wrong_token"],
        ["shop", "auth", "-", "ok"],
        ["shop", "incr", "default", "ok"],
        ["shop", "id.next", "-", "forbidden"],
        ["shop", "?", "-", "invalid"],
        ["-", "? /v1/ids", "-", "method_not_allowed"],
    ];
    assert_eq!(notes().iter().map(told).collect::<Vec<_>>(), expected);
    let log = server.home().log();
    assert!(!log.contains("rft_"), "{log}");
    assert!(
        notes()
            .iter()
            .all(|note| note["peer"].as_str().unwrap().starts_with("127.0.0.1:"))
    );
}
