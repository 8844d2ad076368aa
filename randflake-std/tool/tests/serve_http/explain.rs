//! Histories of many leases: explaining ids of them holds up nobody's leases.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_std::lease::Token;
use randflake_std::randflake_core::Codec;
use randflake_std::unstable::rules::{Form, HistoryLink, Key, NodeRecord, VERSION};
use randflake_std::{Parts, Randflake, Secret};
use rusqlite::{Connection, params};

use crate::server::{KEY, Server};

const NODE: u32 = 7;
/// As many as one token made in minutes.
const LEASES: u64 = 55_984;
const LENGTH: u64 = 3;
/// 2024-10-27 03:33:20 UTC, where the layout's ticks begin.
const EPOCH_S: u64 = 1_730_000_000;

/// Gives a node id a history in a server's store, as if its leases had followed on each other; returns the start of the
/// first one.
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
            knows: VERSION,
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
            let headers = [
                ("authorization", &*format!("Bearer {tenant}")),
                ("content-type", "application/json"),
            ];
            let granted = server.request("POST", "/v1/leases", &headers, "{}");
            let granted = granted.json(201);
            let grant = granted.to_string();
            server
                .request(
                    "POST",
                    &format!("/v1/leases/renew?request=renewal-{nth}"),
                    &headers,
                    &grant,
                )
                .json(200);
        }
    });
    assert!(explained.into_inner() > 100);
}
