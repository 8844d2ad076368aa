//! Changes of the file of tokens while connections are open.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::{fs, thread};

use crate::client::Client;
use crate::server::{Home, Server, wait_until};

/// A pipeline, or a transaction, may take minutes: for ids of the seconds to come, or for a store that is busy.
#[test]
fn a_revoked_token_ends_within_a_pipeline() {
    /// Of 131,072 that a node id has in a second.
    const NEXT: [&str; 6] = ["ID.NEXT", "default", "COUNT", "100000", "FORMAT", "raw"];
    const MANY: usize = 60;
    for is_transaction in [false, true] {
        let home = Home::new();
        let token = home.token("shop", "ids", "default", &[]);
        home.token("root", "admin", "*", &[]);
        let server = Server::start_with(home, &["--tokens", "tokens", "--node-ids", "1"]);
        let mut client = server.connect_as(&token);
        // The first lease may take longer than a command waits, on a busy machine.
        wait_until("the server has no ids", || {
            client.ask(&["INCR", "default"]).starts_with(':')
        });
        let mut pipeline = Client::command(&NEXT).repeat(MANY);
        if is_transaction {
            pipeline = [
                Client::command(&["MULTI"]),
                pipeline,
                Client::command(&["EXEC"]),
            ]
            .concat();
        }
        client.send(&pipeline);
        let queued = if is_transaction { MANY + 1 } else { 0 };
        for _ in 0..queued {
            assert!(client.reply().starts_with('+'));
        }
        if is_transaction {
            assert_eq!(client.head(), format!("*{MANY}"));
        }
        let first = client.reply();
        // By its length: random bytes may begin as an error does.
        assert!(first.len() >= 800_000, "{first}");
        let revoke = ["token", "revoke", "shop", "--file", "tokens"];
        server.home().ask(&revoke);
        server.signal(libc::SIGHUP);
        let replies: Vec<_> = (1..MANY).map(|_| client.reply()).collect();
        let refused = replies.iter().filter(|reply| reply.starts_with("-NOAUTH "));
        assert!(refused.count() > MANY / 2, "{is_transaction}");
    }
}

/// An idle connection, and one that asks for what needs no token, would keep places and memory from others.
#[test]
fn connections_of_a_revoked_token_end_by_themselves() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    let other = home.token("other", "ids", "default", &[]);
    let arguments = ["--tokens", "tokens", "--http", "127.0.0.1:0"];
    let server = Server::start_with(home, &arguments);
    let mut idle = server.connect_as(&token);
    let mut rotated = server.connect_as(&token);
    let mut beside = server.connect_as(&other);
    let mut http = TcpStream::connect(server.http()).unwrap();
    let request = |path: &str, token: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    http.write_all(request("/v1/ids", &token).as_bytes())
        .unwrap();
    let new = server
        .home()
        .ask(&["token", "rotate", "shop", "--keep", "0", "--file", "tokens"]);
    server.signal(libc::SIGHUP);
    wait_until("the new token is not known", || {
        rotated.ask(&["AUTH", new.trim()]) == "+OK"
    });
    // Where nobody looks at the token: it is closed all the same.
    let probing = thread::spawn(move || {
        let probe = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut answers = [0; 4_096];
        while http.write_all(probe).is_ok() && http.read(&mut answers).is_ok_and(|read| read > 0) {
            thread::sleep(Duration::from_millis(500));
        }
    });
    assert_eq!(idle.rest(), "");
    probing.join().unwrap();
    assert!(rotated.ask(&["INCR", "default"]).starts_with(':'));
    assert!(beside.ask(&["INCR", "default"]).starts_with(':'));
}

/// `cp` and editors empty a file before they write it, and a full disk leaves it so.
#[test]
fn an_emptied_file_of_tokens_revokes_until_restored() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    home.token("old", "ids", "default", &["--expires", "2999-12-31"]);
    let text = fs::read_to_string(home.path("tokens")).unwrap();
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut client = server.connect_as(&token);
    server.home().write("tokens", "# nothing\n");
    server.home().wait_for(
        "warning: the file of tokens has none any more, and had 2: every client is refused, and /readyz is 503",
    );
    let told = client.ask(&["INCR", "default"]);
    assert!(told.starts_with("-NOAUTH "), "{told}");
    assert!(
        server
            .connect()
            .ask(&["AUTH", &token])
            .starts_with("-WRONGPASS ")
    );
    server.home().write("tokens", &text);
    server
        .home()
        .wait_for("the tokens were read again: 2, before 0");
    let told = client.ask(&["INCR", "default"]);
    assert!(told.starts_with(':'), "{told}");
    // Who has reset the connection has no token any more.
    assert_eq!(client.ask(&["RESET"]), "+RESET");
    server.home().write("tokens", &format!("{text}\n"));
    server
        .home()
        .wait_for("the tokens were read again: 2, before 2");
    assert!(client.ask(&["INCR", "default"]).starts_with("-NOAUTH "));
}

#[test]
fn changed_tokens_count_for_open_connections() {
    let home = Home::new();
    let first = home.token("first", "ids", "default", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut client = server.connect_as(&first);
    assert!(client.ask(&["INCR", "default"]).starts_with(':'));

    // Without a signal.
    let second = server.home().token("second", "ids", "default", &[]);
    wait_until("the new token is not known", || {
        server.connect().ask(&["AUTH", &second]) == "+OK"
    });
    let mut other = server.connect_as(&second);

    // A file that is wrong changes nothing.
    let tokens = fs::read_to_string(server.home().path("tokens")).unwrap();
    server
        .home()
        .write("tokens", &tokens.replace("scopes=ids", "scopes=everything"));
    server.signal(libc::SIGHUP);
    server.home().wait_for("the tokens stay as they were");
    assert!(client.ask(&["INCR", "default"]).starts_with(':'));

    // The first is revoked.
    let kept: Vec<_> = tokens
        .lines()
        .filter(|line| !line.contains("name=first"))
        .collect();
    server.home().write("tokens", &kept.join("\n"));
    server.signal(libc::SIGHUP);
    wait_until("the old token is still known", || {
        client.ask(&["INCR", "default"]).starts_with("-NOAUTH ")
    });
    assert!(other.ask(&["INCR", "default"]).starts_with(':'));
}
