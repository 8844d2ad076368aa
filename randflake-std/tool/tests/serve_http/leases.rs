//! `/v1/leases` and `/v1/tickets`: leases of clients and devices, and shares of the node ids.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use randflake_std::lease::Token;
use randflake_std::randflake_core::{Codec, Randflake, Randflake53, TicketError, TicketReader};
use randflake_std::unstable::rules::{Form, HistoryLink, Key, NodeRecord, VERSION};
use randflake_std::{Parts, Secret};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::server::{Answer, KEY, Server, TICKET_KEY};

fn nodes(document: &Value) -> Vec<u64> {
    let leases = document["leases"].as_array().unwrap().iter();
    leases
        .map(|lease| lease["node"].as_u64().unwrap())
        .collect()
}

/// As where its volume was unmounted: what it made there would be another store than that of its
/// clients' leases.
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

/// The client asks and is gone before the answer; then it repeats the request, through another
/// server.
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
        thread::yield_now();
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
        thread::yield_now();
    }
    for server in [&other, &server] {
        assert_eq!(server.post(&release, &renewed).status, 204);
    }
}

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
fn tickets_of_53_bit_ids_are_for_such_devices() {
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

/// Node ids of the namespace `events`; the servers keep a sixteenth.
const ALL: usize = 1_024;
const RESERVED: usize = 64;
/// No quota of leases.
const ANY_RATE: [&str; 2] = ["--leases-per-second", "1000000"];

fn lease(server: &Server, token: &str, asked: &str) -> Answer {
    server.post_as(token, "/v1/leases?namespace=events", asked)
}

/// Leases node ids one at a time until none is free; says how many.
fn lease_all(server: &Server, token: &str) -> usize {
    let mut leased = 0;
    loop {
        let answer = lease(server, token, r#"{"ttl_ms":60000}"#);
        if answer.status != 201 {
            answer.problem(503, "busy");
            return leased;
        }
        leased += 1;
    }
}

#[test]
fn greedy_clients_leave_node_ids_to_new_servers() {
    let tenant = (["tenant", "leases", "events"], &ANY_RATE[..]);
    let (server, tokens) = Server::with_token_options(&[tenant]);
    let tenant = &tokens[0];
    let chosen = lease(&server, tenant, r#"{"node_ids":[960]}"#);
    let refused = chosen.problem(403, "forbidden");
    assert!(
        refused.contains("may not lease node id 960: 0 to 959 are allowed"),
        "{refused}"
    );
    let many = lease(&server, tenant, r#"{"count":900,"ttl_ms":60000}"#).json(201);
    for lease in many["leases"].as_array().unwrap() {
        assert!(lease["node"].as_u64().unwrap() < 960, "{lease}");
    }
    let leased = 900 + lease_all(&server, tenant);
    // The server itself may have one of them.
    let free = ALL - RESERVED;
    assert!((free - 1..=free).contains(&leased), "{leased}");
    for _ in 0..2 {
        let replica = server.replica();
        assert_eq!(replica.get("/readyz").status, 200);
        lease(&replica, tenant, "{}").problem(503, "busy");
    }
}

/// Each node id is granted once by the store, so that a range of them is a limit over all servers,
/// also in a race.
#[test]
fn a_token_holds_no_more_than_its_node_ids() {
    let options = [&ANY_RATE[..], &["--node-ids", "10-19"]].concat();
    let few = (["few", "leases", "events"], &options[..]);
    let all = (["all", "leases", "events"], &ANY_RATE[..]);
    let (server, tokens) = Server::with_token_options(&[few, all]);
    let replica = server.replica();
    let told = lease(&server, &tokens[0], r#"{"node_ids":[9]}"#).problem(403, "forbidden");
    assert!(told.contains("10 to 19 are allowed"), "{told}");
    lease(&server, &tokens[0], r#"{"count":11}"#).problem(400, "invalid");
    let leased = AtomicUsize::new(0);
    thread::scope(|scope| {
        for server in [&server, &replica, &server, &replica] {
            let (leased, token) = (&leased, &tokens[0]);
            scope.spawn(move || leased.fetch_add(lease_all(server, token), Ordering::Relaxed));
        }
    });
    // The servers hold one of 1,024 each.
    assert!((8..=10).contains(&leased.into_inner()));
    // Others go on, and what they lease this one does not renew. Not a chosen one, which a server
    // may hold.
    let other = lease(&replica, &tokens[1], "{}").json(201);
    let path = "/v1/leases/renew?request=renewal-1";
    let told = server.post_as(&tokens[0], path, &other.to_string());
    told.problem(403, "forbidden");
}

const NODE: u32 = 7;
/// As many as one token made in minutes.
const LEASES: u64 = 55_984;
const LENGTH: u64 = 3;
/// 2024-10-27 03:33:20 UTC, where the layout's ticks begin.
const EPOCH_S: u64 = 1_730_000_000;

/// Gives a node id a history in a server's store, as if its leases had followed on each other;
/// returns the start of the first one.
fn fill(server: &Server) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let begin = now.as_secs() - EPOCH_S - (LEASES + 1) * LENGTH;
    let mut store = Connection::open(server.path("state/randflake/leases.db")).unwrap();
    let writing = store.transaction().unwrap();
    let mut past = HistoryLink::default();
    for count in 0..=LEASES {
        let start = begin + count * LENGTH;
        let record = NodeRecord {
            node_id: NODE,
            start,
            end: start + LENGTH,
            fencing_token: start,
            serial: 1,
            token: Token::from_bytes([1; 16]),
            nonce: 1,
            held: true,
            contested: false,
            past,
            holder: format!("holder-{count}"),
            capabilities: VERSION,
            form: Form::default(),
        };
        let key = if count == LEASES {
            Key::Node(NODE)
        } else {
            Key::History(NODE, u16::try_from(count).unwrap())
        };
        let (kind, number) = key.numbers();
        let number = i64::try_from(number).unwrap();
        let insert = "INSERT OR REPLACE INTO record VALUES ('default', ?, ?, ?)";
        writing
            .execute(insert, params![kind, number, record.to_text()])
            .unwrap();
        past = HistoryLink::behind(&record);
    }
    writing.commit().unwrap();
    begin
}

/// Ends the readers, also when the test fails: it would wait for them.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn explanations_of_a_long_history_hold_up_no_leases() {
    let (server, tokens) = Server::with_tokens(&[
        ["reader", "inspect,leases,admin", "default"],
        ["tenant", "leases", "default"],
    ]);
    let [reader, tenant] = tokens.try_into().unwrap();
    let begin = fill(&server);
    let codec = Codec::new(Randflake, Secret::from_hex(KEY).unwrap().cipher());
    let path = |count: u64| {
        let id = codec.compose(Parts {
            tick: begin + count * LENGTH + 1,
            node_id: NODE,
            sequence: 5,
        });
        format!("/v1/explain?id={}", id.unwrap())
    };
    for count in [0, 1, LEASES / 2, LEASES - 1, LEASES] {
        let told = server.get_as(&reader, &path(count)).json(200);
        let holder = format!("holder-{count}");
        assert_eq!(told["lease"]["holder"], *holder, "{told}");
        assert_eq!(told["gaps"].as_array().unwrap().len(), 0);
    }

    let is_over = AtomicBool::new(false);
    let explained = AtomicUsize::new(0);
    thread::scope(|scope| {
        for nth in 0..40_u64 {
            let (server, path, reader) = (&server, &path, &reader);
            let (is_over, explained) = (&is_over, &explained);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let told = server.get_as(reader, &path(nth * LEASES / 40));
                    // The reader's own quota, or sessions that are busy with its other requests.
                    assert!(matches!(told.status, 200 | 429 | 503), "{}", told.text());
                    explained.fetch_add(usize::from(told.status == 200), Ordering::Relaxed);
                }
            });
        }
        let _end = End(&is_over);
        for nth in 0..100 {
            let granted = server.post_as(&tenant, "/v1/leases", "{}").json(201);
            let renew = format!("/v1/leases/renew?request=renewal-{nth}");
            server
                .post_as(&tenant, &renew, &granted.to_string())
                .json(200);
        }
    });
    assert!(explained.into_inner() > 100);
}
