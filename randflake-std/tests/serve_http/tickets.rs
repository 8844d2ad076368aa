//! `/v1/tickets`: leases of devices.

use randflake_core::{Randflake, TicketReader};
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
    let ask = |body: &str| server.post("/v1/tickets", body);
    let first = ask(r#"{"device":"d0e5","counter":1,"ttl_ms":60000}"#).json(201);
    let second = ask(r#"{"device":"D0E5","counter":2,"ttl_ms":120000,"renew":true}"#).json(201);
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
    assert_eq!(leases[0].ticks(), 60);
    assert!(leases[0].end() < leases[1].end());
    assert!(
        reader
            .accept::<Randflake>(&ticket(&second), &key, None)
            .is_err()
    );
}

#[test]
fn what_is_no_request_for_a_ticket_is_refused() {
    let server = Server::start();
    let ask = |body: &str| server.post("/v1/tickets", body);
    let detail = ask(r#"{"device":"d0e5","counter":1,"renew":true}"#).problem(409, "conflict");
    assert!(detail.contains("000000000000d0e5"), "{detail}");
    for (body, found) in [
        (r#"{"device":"meter","counter":1}"#, "hex"),
        (r#"{"device":"d0e5"}"#, "counter"),
        (r#"{"device":"d0e5","counter":4294967296}"#, "u32"),
        (r#"{"device":"d0e5","counter":1,"ttl_ms":0}"#, "TTL"),
    ] {
        let detail = ask(body).problem(400, "invalid");
        assert!(detail.contains(found), "{body}: {detail}");
    }
}
