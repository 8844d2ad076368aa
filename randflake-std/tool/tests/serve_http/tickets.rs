//! `/v1/tickets`: leases of devices.

use randflake_std::randflake_core::{Randflake, Randflake53, TicketError, TicketReader};
use serde_json::Value;

use crate::server::{Server, TICKET_KEY};

const DEVICE: u64 = 0xd0e5;

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    assert_eq!(hex.len(), 2 * N);
    core::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap())
}

fn ticket(answer: &Value) -> [u8; 32] {
    bytes(answer["ticket"].as_str().unwrap())
}

#[test]
fn a_device_accepts_the_tickets_of_its_lease() {
    let server = Server::start();
    let device = r#"{"device":"d0e5","counter":0}"#;
    let known = server.post("/v1/devices", device).json(200);
    assert_eq!(
        (&known["owner"], &known["counter"]),
        (&"".into(), &0.into())
    );
    let ask = |body: &str| server.post("/v1/tickets", body);
    let first = ask(r#"{"device":"d0e5","counter":1,"ttl_ms":30000}"#).json(201);
    let second = ask(r#"{"device":"D0E5","counter":2,"ttl_ms":60000,"renew":true}"#).json(201);
    assert_eq!(first["node"], second["node"]);
    let key = bytes(TICKET_KEY);
    let mut reader = TicketReader::new(DEVICE, 0);
    let leases = [&first, &second].map(|answer| {
        reader
            .accept::<Randflake>(&ticket(answer), &key, None)
            .unwrap()
    });
    assert_eq!(
        u64::from(leases[0].node_id()),
        first["node"].as_u64().unwrap()
    );
    assert_eq!(leases[0].ticks(), 30);
    assert!(leases[0].end() < leases[1].end());
    assert!(
        reader
            .accept::<Randflake>(&ticket(&second), &key, None)
            .is_err()
    );
}

/// Firmware of 64-bit ids would issue others in this namespace.
#[test]
fn a_ticket_of_53_bit_ids_is_for_devices_of_such_alone() {
    let server = Server::start_with(&["--layout", "randflake53", "--namespace", "default"]);
    let device = r#"{"device":"d0e5","counter":0}"#;
    server.post("/v1/devices", device).json(200);
    let ticket_of = |body: &str| ticket(&server.post("/v1/tickets", body).json(201));
    let bytes_of = ticket_of(r#"{"device":"d0e5","counter":1,"ttl_ms":30000}"#);
    let key = bytes(TICKET_KEY);
    let mut reader = TicketReader::new(DEVICE, 0);
    let refused = reader.accept::<Randflake>(&bytes_of, &key, None);
    assert_eq!(refused, Err(TicketError::Version { version: 2 }));
    let lease = reader.accept::<Randflake53>(&bytes_of, &key, None).unwrap();
    assert!(lease.node_id() < 1024 && lease.ticks() == 30, "{lease:?}");
}

#[test]
fn what_is_no_request_for_a_ticket_is_refused() {
    let server = Server::start();
    let ask = |body: &str| server.post("/v1/tickets", body);
    let detail = ask(r#"{"device":"d0e5"}"#).problem(409, "conflict");
    assert!(detail.contains("an administrator registers it"), "{detail}");
    let device = r#"{"device":"d0e5","counter":0}"#;
    server.post("/v1/devices", device).json(200);
    let detail = ask(r#"{"device":"d0e5","counter":1,"renew":true}"#).problem(409, "conflict");
    assert!(detail.contains("000000000000d0e5"), "{detail}");
    for (body, found) in [
        (r#"{"device":"meter","counter":1}"#, "hex"),
        (
            r#"{"device":"d0e5","counter":1}"#,
            "2 to 1001 are allowed after 1",
        ),
        (
            r#"{"device":"d0e5","counter":1002}"#,
            "2 to 1001 are allowed after 1",
        ),
        (r#"{"device":"d0e5","counter":4294967296}"#, "u32"),
        (r#"{"device":"d0e5","ttl_ms":0}"#, "TTL"),
    ] {
        let detail = ask(body).problem(400, "invalid");
        assert!(detail.contains(found), "{body}: {detail}");
    }
}

/// A token that renewed another one's device with the last counter made it refuse every ticket, for good.
#[test]
fn a_device_is_its_owner_s_until_an_administrator_moves_it() {
    let (server, tokens) = Server::with_tokens(&[
        ["a", "leases", "default"],
        ["b", "leases", "default"],
        ["root", "admin", "default"],
    ]);
    let replica = server.replica();
    let [a, b, root] = [0, 1, 2].map(|token: usize| tokens[token].clone());
    let ask = |token: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", &*bearer),
        ];
        replica.request("POST", &format!("{path}?namespace=default"), &headers, body)
    };
    // Nobody takes a device by asking first, and no other right registers it.
    let first = r#"{"device":"d0e5","counter":1,"ttl_ms":60000}"#;
    ask(&a, "/v1/tickets", first).problem(403, "forbidden");
    let mine = r#"{"device":"d0e5","owner":"a","counter":0}"#;
    ask(&a, "/v1/devices", mine).problem(403, "forbidden");
    ask(&root, "/v1/devices", mine).json(200);
    let ticket = ask(&a, "/v1/tickets", first).json(201);

    let stolen = r#"{"device":"d0e5","counter":1073741823,"renew":true}"#;
    let detail = ask(&b, "/v1/tickets", stolen).problem(403, "forbidden");
    assert!(detail.contains("none of \"b\""), "{detail}");
    ask(&a, "/v1/tickets", stolen).problem(400, "invalid");
    let look = "/v1/devices?namespace=default&device=d0e5";
    server.get_as(&b, look).problem(403, "forbidden");
    let known = server.get_as(&root, look).json(200);
    assert_eq!(
        (&known["owner"], &known["counter"]),
        (&"a".into(), &1.into())
    );
    let listed = server.get_as(&a, "/v1/leases?namespace=default").json(200);
    let ends = listed["leases"].as_array().unwrap().iter();
    let mut ends = ends.filter(|lease| lease["node"] == ticket["node"]);
    assert_eq!(ends.next().unwrap()["end_unix_ms"], ticket["end_unix_ms"]);

    ask(&root, "/v1/devices", r#"{"device":"d0e5","owner":"b"}"#).json(200);
    let next = r#"{"device":"d0e5","renew":true}"#;
    ask(&a, "/v1/tickets", next).problem(403, "forbidden");
    assert_eq!(ask(&b, "/v1/tickets", next).json(201)["counter"], 2);
}
