//! What no client library sends, and what it gets.

use std::collections::BTreeSet;

use crate::client::Client;
use crate::server::{Home, Server};

/// What is sent, and how the answer begins, after which the connection is closed.
const CLOSED: &[(&str, &str)] = &[
    (
        "*x\\r\\n",
        "-ERR Protocol error: invalid multibulk length\\r\\n",
    ),
    (
        "*2147483648\\r\\n",
        "-ERR Protocol error: invalid multibulk length\\r\\n",
    ),
    (
        "*4097\\r\\n",
        "-ERR Protocol error: invalid multibulk length\\r\\n",
    ),
    (
        "*1\\r\\n:1\\r\\n",
        "-ERR Protocol error: expected \\'$\\', got \\':\\'\\r\\n",
    ),
    // An array in an array: nothing nests.
    (
        "*1\\r\\n*1\\r\\n*1\\r\\n",
        "-ERR Protocol error: expected \\'$\\', got \\'*\\'\\r\\n",
    ),
    (
        "*1\\r\\n$-2\\r\\n",
        "-ERR Protocol error: invalid bulk length\\r\\n",
    ),
    (
        "*1\\r\\n$536870913\\r\\n",
        "-ERR Protocol error: too big command\\r\\n",
    ),
    (
        "*1\\r\\n$4\\r\\nPINGxx",
        "-ERR Protocol error: expected CRLF behind a bulk string\\r\\n",
    ),
    (
        "*00000000000000000000000000000001",
        "-ERR Protocol error: too big count string\\r\\n",
    ),
    ("POST / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", ""),
    // The begin of a TLS handshake with a command in its bytes.
    (
        "\u{16}\u{3}\u{1}\\r\\nLEASE.ACQUIRE default\\r\\n",
        "-ERR Protocol error: expected \\'*\\' or a command\\'s name, got \\'\\\\x16\\': this is no TLS, which --tls-cert \
         brings, and no other protocol\\r\\n",
    ),
    // Mail, HTTP by its other methods, and what a mistyped command may be.
    (
        "EHLO a\\r\\nINCR default\\r\\n",
        "-ERR unknown command \\'EHLO\\', with args beginning with: \\'a\\' \\r\\n",
    ),
    (
        "GET / HTTP/1.1\\r\\nX: a\\r\\nINCR default\\r\\n",
        "-ERR wrong number of arguments for \\'get\\' command\\r\\n-ERR unknown command \\'X:\\', with args beginning with: \\'a\\' \\r\\n",
    ),
    // What was whole before is answered.
    (
        "PING\\r\\n*1\\r\\n$x\\r\\n",
        "+PONG\\r\\n-ERR Protocol error: invalid bulk length\\r\\n",
    ),
    ("QUIT\\r\\nPING\\r\\n", "+OK\\r\\n"),
];

/// What is sent, and what is answered; the connection goes on.
const ANSWERED: &[(&[&str], &str)] = &[
    (&[""], "-ERR unknown command '', with args beginning with: "),
    (
        &["FLUSHALL"],
        "-ERR unknown command 'FLUSHALL', with args beginning with: ",
    ),
    (
        &["a\r\nb", "c\td"],
        "-ERR unknown command 'a  b', with args beginning with: 'c d' ",
    ),
    (
        &["INCR"],
        "-ERR wrong number of arguments for 'incr' command",
    ),
    (
        &["INCR", "a", "b"],
        "-ERR wrong number of arguments for 'incr' command",
    ),
    (
        &["PING", "a", "b"],
        "-ERR wrong number of arguments for 'ping' command",
    ),
    (
        &["INCRBY", "default", "2"],
        "-ERR ids do not follow each other: INCRBY takes 1 only; for more ids use ID.NEXT namespace COUNT n",
    ),
    (
        &["INCR", "nothing"],
        "-ERR there is no namespace \"nothing\": served: default",
    ),
    (
        &["MGET", "default", "nothing"],
        "-ERR there is no namespace \"nothing\": served: default",
    ),
    (
        &["ID.NEXT", "default", "COUNT"],
        "-ERR COUNT takes a number, in digits only",
    ),
    (
        &["ID.NEXT", "default", "COUNT", "-1"],
        "-ERR COUNT takes a number, in digits only",
    ),
    (
        &["ID.NEXT", "default", "COUNT", "+1"],
        "-ERR COUNT takes a number, in digits only",
    ),
    (
        &["ID.NEXT", "default", "COUNT", "0"],
        "-ERR 0 ids were asked for: 1 to 100000 are allowed in one request",
    ),
    (
        &["ID.NEXT", "default", "COUNT", "100001"],
        "-ERR 100001 ids were asked for: 1 to 100000 are allowed in one request",
    ),
    (
        &["ID.NEXT", "default", "FORMAT", "hex"],
        "-ERR FORMAT takes text, int or raw",
    ),
    (
        &["ID.NEXT", "default", "LIMIT", "1"],
        "-ERR syntax error: ID.NEXT namespace [COUNT n] [FORMAT text|int|raw] is allowed",
    ),
    (&["ID.INSPECT", "default", "!"], "-ERR the id \"!\": "),
    (
        &["ID.INSPECT", "default", "x", "FORMAT", "int"],
        "-ERR the id \"x\": not a number from -9223372036854775808 to 9223372036854775807",
    ),
    (
        &["LEASE.ACQUIRE", "default", "COUNT", "0"],
        "-ERR 0 leases were asked for: 1 to 1000 are allowed in one request",
    ),
    (
        &["LEASE.ACQUIRE", "default", "COUNT", "x"],
        "-ERR \"x\" is no value of COUNT: a number in digits is allowed",
    ),
    (
        &["LEASE.ACQUIRE", "default", "EX", "+9"],
        "-ERR \"+9\" is no value of EX: a number in digits is allowed",
    ),
    (
        &["LEASE.ACQUIRE", "default", "HOLDER", "device/1"],
        "-ERR the holder's name \"device/1\" is not allowed: ",
    ),
    (&["LEASE.ACQUIRE", "default", "EX", "301"], "-ERR "),
    (
        &["LEASE.LIST", "default", "COUNT", "1001"],
        "-ERR 1001 leases were asked for: 1 to 1000 are allowed in one request",
    ),
    (
        &["LEASE.LIST", "default", "FROM", "-1"],
        "-ERR \"-1\" is no value of FROM: a number in digits is allowed",
    ),
    (
        &["LEASE.LIST", "default", "COUNT", "ALL"],
        "-ERR syntax error: LEASE.LIST namespace [FROM cursor] [COUNT n] [ALL] is allowed",
    ),
    (
        &["LEASE.RENEW", "{}"],
        "-ERR this is not what LEASE.ACQUIRE or LEASE.RENEW answered: ",
    ),
    (
        &["SELECT", "1"],
        "-ERR DB index is out of range: there is 0 only",
    ),
    (&["HELLO", "4"], "-NOPROTO unsupported protocol version"),
    (
        &["AUTH", "guess"],
        "-WRONGPASS the server has no tokens (--tokens): send none",
    ),
    (
        &["CLIENT", "KILL", "x"],
        "-ERR unknown subcommand or wrong number of arguments: ",
    ),
    (
        &["CONFIG", "SET", "a", "b"],
        "-ERR unknown subcommand: CONFIG GET is allowed",
    ),
];

/// The bytes of a text in which `\r` and `\n` are written out.
fn bytes(text: &str) -> Vec<u8> {
    text.replace("\\r", "\r").replace("\\n", "\n").into_bytes()
}

#[test]
fn abuse_is_answered_and_ends_where_nothing_can_follow() {
    let server = Server::start();
    for (sent, answer) in CLOSED {
        let mut client = server.connect();
        client.send(&bytes(sent));
        client.finish();
        assert_eq!(client.rest(), *answer, "{sent}");
    }
    let mut client = server.connect();
    for (words, answer) in ANSWERED {
        let told = client.ask(words);
        assert!(told.starts_with(answer), "{words:?}: {told}");
    }
    assert_eq!(client.ask(&["PING"]), "+PONG");
}

/// Bytes of a generator with a fixed start: whatever they are, the server answers others.
#[test]
fn random_bytes_harm_nobody_else() {
    let server = Server::start();
    let mut random = fastrand::Rng::with_seed(1);
    let alphabet = b"*$\r\n0123456789-:+_INCRPINGdefault \x00\xff";
    for _ in 0..200 {
        let mut client = server.connect();
        let length = random.usize(1..300);
        let sent: Vec<u8> = (0..length)
            .map(|_| alphabet[random.usize(..alphabet.len())])
            .collect();
        client.send(&sent);
        client.finish();
        client.rest();
    }
    assert_eq!(server.connect().ask(&["PING"]), "+PONG");
}

/// Six parts of each: its name, its number of words, whether it is fast, and where keys are.
#[test]
fn each_command_is_in_the_guide() {
    let server = Server::start();
    let told = server.connect().ask(&["COMMAND"]);
    let parts: Vec<_> = told.split(' ').collect();
    let guide = include_str!("../../../../docs/serve.md");
    assert!(parts.len() >= 6 * 20, "{told}");
    for command in parts.chunks(6) {
        let name = command[0].to_uppercase();
        assert!(guide.contains(&format!("`{name}")), "{name}");
    }
}

#[test]
fn commands_are_answered_in_order_however_they_are_cut() {
    let server = Server::start();
    let mut client = server.connect();
    let commands: Vec<u8> = (0..300)
        .flat_map(|number| {
            let name = number.to_string();
            let echo = Client::command(&["ECHO", &name]);
            [echo, Client::command(&["INCR", "default"])].concat()
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(2);
    let mut rest = &commands[..];
    while !rest.is_empty() {
        let (piece, next) = rest.split_at(random.usize(1..=rest.len().min(64)));
        client.send(piece);
        rest = next;
    }
    let mut ids = BTreeSet::new();
    for number in 0..300 {
        assert_eq!(client.reply(), number.to_string());
        let id = client.reply();
        assert!(id.starts_with(':'), "{id}");
        assert!(ids.insert(id));
    }
}

#[test]
fn formats_are_of_the_same_ids() {
    let server = Server::start();
    let mut client = server.connect();
    let texts = client.ask(&["ID.NEXT", "default", "COUNT", "1000"]);
    let texts: BTreeSet<_> = texts.split(' ').collect();
    assert_eq!(texts.len(), 1_000);
    assert_eq!(
        client
            .ask(&["ID.NEXT", "default", "format", "INT", "count", "3"])
            .split(' ')
            .count(),
        3
    );
    for id in [
        client.ask(&["GET", "default"]),
        client.ask(&["INCR", "default"]),
    ] {
        let digits = id.trim_start_matches(':');
        let inspected = client.ask(&["ID.INSPECT", "default", digits, "FORMAT", "int"]);
        let told = server.home().ask(&[
            "inspect",
            "--json",
            "--not-rounded",
            "--from",
            "int",
            digits,
        ]);
        let [ours, tools] = [&*inspected.replace("\\\"", "\""), &*told]
            .map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(ours, tools);
    }
    client.send(&Client::command(&[
        "ID.NEXT", "default", "COUNT", "2", "FORMAT", "raw",
    ]));
    client.send(b"QUIT\r\n");
    let raw = client.rest();
    assert!(raw.starts_with("$16\\r\\n"), "{raw}");
}

/// The third version of the protocol, as far as replies differ.
#[test]
fn both_versions_of_the_protocol_are_spoken() {
    let server = Server::start();
    let mut client = server.connect();
    client.send(b"CLIENT GETNAME\r\nHELLO 3 SETNAME me\r\nCONFIG GET dir\r\nCLIENT GETNAME\r\nRESET\r\nCLIENT GETNAME\r\nHELLO 2\r\nQUIT\r\n");
    let told = client.rest();
    let (before, told) = told
        .split_once("%7\\r\\n$6\\r\\nserver\\r\\n$9\\r\\nrandflake\\r\\n")
        .unwrap();
    assert_eq!(before, "$-1\\r\\n");
    let (third, told) = told
        .split_once("%0\\r\\n$2\\r\\nme\\r\\n+RESET\\r\\n$-1\\r\\n*14\\r\\n")
        .unwrap();
    assert!(third.contains("proto\\r\\n:3\\r\\n"), "{third}");
    assert!(told.contains("proto\\r\\n:2\\r\\n"), "{told}");
}

/// Leases as a program without our library takes them.
#[test]
fn leases_are_acquired_renewed_listed_and_released() {
    let server = Server::start();
    let mut client = server.connect();
    let json = |text: String| {
        serde_json::from_str::<serde_json::Value>(&text.replace("\\\"", "\"")).unwrap()
    };
    let acquire = [
        "LEASE.ACQUIRE",
        "default",
        "NODES",
        "7,9",
        "EX",
        "30",
        "HOLDER",
        "me",
    ];
    let granted = json(client.ask(&acquire));
    assert_eq!(granted["leases"][0]["node"], 7);
    let told = client.ask(&acquire);
    assert!(
        told.starts_with("-TRYAGAIN too few node ids are free"),
        "{told}"
    );
    let renewed = json(client.ask(&[
        "LEASE.RENEW",
        &granted.to_string(),
        "REQUEST",
        "renewal-1",
        "EX",
        "60",
    ]));
    let end = |document: &serde_json::Value| document["leases"][1]["end_unix_ms"].as_u64().unwrap();
    assert!(end(&renewed) > end(&granted));
    let listed = client.ask(&["LEASE.LIST", "default"]).replace("\\\"", "\"");
    assert_eq!(listed.matches("\"holder\":\"me/").count(), 2);
    assert!(!listed.contains("\"token\""), "{listed}");
    let start = granted["leases"][0]["start_unix_ms"].to_string();
    let release = [
        "LEASE.RELEASE",
        &renewed.to_string(),
        "REQUEST",
        "release-1",
        "UNUSED-FROM",
        &start,
    ];
    assert_eq!(client.ask(&release), "+OK");
    assert!(client.ask(&acquire).starts_with('{'));
    // Another layout's leases are not this namespace's.
    let other = renewed
        .to_string()
        .replace("\"tick_ms\":1000", "\"tick_ms\":10");
    assert!(
        client
            .ask(&["LEASE.RENEW", &other, "REQUEST", "renewal-2"])
            .starts_with("-ERR the namespace")
    );
}

#[test]
fn leases_are_listed_in_pages() {
    const NODES: [u64; 5] = [1_001, 1_002, 1_003, 1_005, 131_071];
    let server = Server::start_with(Home::new(), &["--reserved-node-ids", "0"]);
    let mut client = server.connect();
    let nodes = NODES.map(|node| node.to_string()).join(",");
    let granted = client.ask(&["LEASE.ACQUIRE", "default", "NODES", &nodes]);
    assert!(granted.starts_with('{'), "{granted}");
    for all in [&[][..], &["ALL"]] {
        let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
        loop {
            let page = ["LEASE.LIST", "default", "FROM", &cursor, "COUNT", "2"];
            let told = client.ask(&[&page, all].concat()).replace("\\\"", "\"");
            let (next, rows) = told.split_once(' ').unwrap();
            let rows = serde_json::Deserializer::from_str(rows).into_iter();
            let rows: Vec<serde_json::Value> = rows.map(Result::unwrap).collect();
            assert!((1..=2).contains(&rows.len()), "{told}");
            found.extend(rows.iter().map(|row| row["node"].as_u64().unwrap()));
            cursor = next.to_owned();
            if cursor == "0" {
                break;
            }
        }
        assert!(found.is_sorted(), "{found:?}");
        assert_eq!(
            found.len(),
            NODES.len() + 1,
            "and that of the server: {found:?}"
        );
        assert!(NODES.iter().all(|node| found.contains(node)), "{found:?}");
    }
    let end = ["LEASE.LIST", "default", "FROM", "4294967295"];
    assert_eq!(client.ask(&end), "0 ");
}
