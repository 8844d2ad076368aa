//! Both shops, each on a PostgreSQL server of its own.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::UNIX_EPOCH;

use harness::postgres::PostgresServer;
use harness::server::Server;
use randflake_std::lease::{Namespace, PostgresStore};
use randflake_std::{AnyLayout, Randflake};
use serde_json::Value;
use tempfile::TempDir;

struct Shop {
    server: Server,
    port: u16,
    database: PostgresServer,
}

impl Shop {
    fn open(program: &'static str) -> Self {
        let database = PostgresServer::start();
        let port = harness::free_port();
        let url = database.url("postgres");
        // The server is new: somebody says so once, as `randflake lease init` does.
        let mut store = PostgresStore::open(&url, &namespace()).unwrap();
        store.administration().end_quarantine().unwrap();
        let command = move |folder: &Path| {
            let key = folder.join("randflake.key");
            fs::write(&key, "dffd6021bb2bd5b0af676290809ec3a5").unwrap();
            fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
            let mut command = Command::new(program);
            command
                .env("DATABASE_URL", &url)
                .env("SHOP_KEY_FILE", key)
                .env("LISTEN", format!("127.0.0.1:{port}"));
            command
        };
        let server = Server::start(TempDir::new().unwrap(), command, move || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self {
            server,
            port,
            database,
        }
    }

    /// The status and the body of the answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn ask_json(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, body) = self.ask(method, path, body);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

fn namespace() -> Namespace {
    Namespace::new("shop", Randflake).unwrap()
}

#[test]
fn order_is_found_and_the_node_id_given_back() {
    let mut shop = Shop::open(env!("CARGO_BIN_EXE_shop"));
    assert_eq!(shop.ask("GET", "/ready", "").0, 200);
    let placed = shop.ask_json("POST", "/customers/customer_v/orders", "tea");
    assert_eq!(placed["buyer"], "customer_v");
    let id = placed["id"].as_str().unwrap();
    assert!(id.starts_with("order_"), "{id}");
    let path = format!("/orders/{id}");
    assert_eq!(shop.ask_json("GET", &path, ""), placed);

    let (status, said) = shop.ask("GET", "/orders/customer_v", "");
    assert_eq!(status, 400);
    assert!(said.contains(r#""order" is required"#), "{said}");
    assert_eq!(shop.ask("GET", "/orders/order_v", "").0, 404);

    let schemas = &shop.ask_json("GET", "/openapi.json", "")["paths"];
    let schema = &schemas["/orders/{id}"]["get"]["parameters"][0]["schema"];
    assert!(!schema.is_null(), "{schemas}");

    let mut database = shop.database.client("postgres");
    let row = database
        .query_one("SELECT id, buyer FROM orders", &[])
        .unwrap();
    let id: randflake_std::Id = id.strip_prefix("order_").unwrap().parse().unwrap();
    assert_eq!((row.get(0), row.get(1)), (id.to_i64(), 31_i64));

    let url = shop.database.url("postgres");
    let mut store = PostgresStore::open(&url, &namespace()).unwrap();
    let mut end = || store.list().unwrap()[0].grant.end;
    let held = end();
    assert!(shop.server.terminate().success());
    let now = Randflake.spec().tick_at(UNIX_EPOCH.elapsed().unwrap());
    assert!(end() <= now.unwrap() + 1, "{held} {now:?}");
}

#[test]
fn the_shop_with_uuids_does_the_same() {
    let mut shop = Shop::open(env!("CARGO_BIN_EXE_shop_uuid"));
    assert_eq!(shop.ask("GET", "/ready", "").0, 200);
    let customer = "/customers/67e55044-10b1-426f-9247-bb680e5fe0c8/orders";
    let placed = shop.ask_json("POST", customer, "tea");
    let path = format!("/orders/{}", placed["id"].as_str().unwrap());
    assert_eq!(shop.ask_json("GET", &path, ""), placed);
    assert!(shop.server.terminate().success());
}
