//! The life of a server process: systemd, signals, and its end.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use harness::server::{signal_process, spawn};
use rusqlite::Connection;

use crate::server::Client;
use crate::server::{Home, LIMIT, Server};

/// Reads messages until one of them has that line.
fn hear(socket: &UnixDatagram, line: &str) {
    let mut buffer = [0; 4_096];
    loop {
        let length = socket.recv(&mut buffer).unwrap();
        let message = String::from_utf8_lossy(&buffer[..length]);
        if message.lines().any(|told| told.starts_with(line)) {
            return;
        }
    }
}

#[test]
fn systemd_passes_a_socket_and_hears_how_it_goes() {
    let home = Home::new();
    let path = home.path("notify");
    let notify = UnixDatagram::bind(&path).unwrap();
    let [resp, http] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    // Clients that come before the server are served as well, with ids too: the first lease is
    // waited for.
    let mut early = Client::connect(resp.local_addr().unwrap().port());
    early.send(b"PING\r\nINCR default\r\n");
    let mut early_http = TcpStream::connect(http.local_addr().unwrap()).unwrap();
    let request = b"GET /v1/ids HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    early_http.write_all(request).unwrap();

    let tool = home.tool(&["serve", "--resp", "systemd", "--http", "systemd"]);
    let mut command = Command::new("sh");
    // The first socket is file 3; this process's own id, which only the child knows, is no
    // condition.
    command.args([
        "-c",
        "exec 3<&0 4<&1; exec \"$0\" \"$@\" </dev/null >/dev/null",
    ]);
    command.arg(tool.get_program()).args(tool.get_args());
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("LISTEN_FDS", "2")
        .env("LISTEN_FDNAMES", "resp:http")
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "100000")
        .current_dir(home.path(""))
        .stdin(Stdio::from(OwnedFd::from(resp)))
        .stdout(Stdio::from(OwnedFd::from(http)))
        .stderr(Stdio::null());
    let mut child = spawn(command).unwrap();
    hear(&notify, "READY=1");
    hear(&notify, "WATCHDOG=1");
    hear(&notify, "WATCHDOG=1");
    assert_eq!(early.reply(), "+PONG");
    let id = early.reply();
    assert!(id.starts_with(':'), "{id}");
    let mut answer = String::new();
    early_http.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    signal_process(&child, libc::SIGHUP);
    hear(&notify, "RELOADING=1");
    hear(&notify, "READY=1");
    signal_process(&child, libc::SIGTERM);
    hear(&notify, "STOPPING=1");
    drop(early);
    assert!(child.wait().unwrap().success());
}

const CLIENTS: usize = 8;
const COMMANDS: usize = 2_000;

#[test]
fn requests_that_were_received_are_answered() {
    let mut server = Server::start();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&["PING"]), "+PONG");
    }
    // It finds the signal and the requests at the same time.
    server.signal(libc::SIGSTOP);
    let commands = Client::command(&["INCR", "default"]).repeat(COMMANDS);
    for client in &mut clients {
        client.send(&commands);
    }
    server.signal(libc::SIGTERM);
    server.signal(libc::SIGCONT);
    let mut ids = BTreeSet::new();
    for client in &mut clients {
        for _ in 0..COMMANDS {
            let id = client.reply();
            assert!(id.starts_with(':'), "{id}");
            ids.insert(id);
        }
        assert_eq!(client.rest(), "");
    }
    assert_eq!(ids.len(), CLIENTS * COMMANDS);
    drop(clients);
    assert!(server.ended().success());
    // Released from the first tick on in which nothing was issued.
    let lease = server.home().ask(&["lease", "list", "--json", "--all"]);
    let lease: serde_json::Value = serde_json::from_str(&lease).unwrap();
    assert!(lease["remaining_ms"].as_u64().unwrap() <= 1_000, "{lease}");
}

#[test]
fn idle_clients_do_not_delay_the_end() {
    let mut server = Server::start();
    let mut idle = server.connect();
    assert_eq!(idle.ask(&["PING"]), "+PONG");
    server.signal(libc::SIGINT);
    assert_eq!(idle.rest(), "");
    drop(idle);
    assert!(server.ended().success());
    let log = server.home().log();
    assert!(!log.contains("requests were left"), "{log}");
}

/// The second signal comes while a store that does not answer is asked to release the leases.
#[test]
fn a_second_signal_does_not_wait_for_the_store() {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let mut server = Server::start();
        let store = server.home().path("state/randflake/leases.db");
        let busy = Connection::open(store).unwrap();
        busy.busy_timeout(LIMIT).unwrap();
        busy.execute_batch("BEGIN EXCLUSIVE").unwrap();
        server.signal(libc::SIGTERM);
        server.home().wait_for("releasing the leases");
        server.signal(libc::SIGTERM);
        assert!(server.ended().success());
        let log = server.home().log();
        if log.contains("asked again to stop") {
            return;
        }
        // The server gave up before the signal came: this machine is slow.
        assert!(log.contains("were not released"), "{log}");
    }
    panic!("the second signal was not seen in {TRIES} tries");
}

#[test]
fn a_stuck_store_delays_the_end_by_the_grace_alone() {
    let mut server = Server::start_with(Home::new(), &["--grace=1s"]);
    let store = server.home().path("state/randflake/leases.db");
    let busy = Connection::open(store).unwrap();
    busy.busy_timeout(LIMIT).unwrap();
    busy.execute_batch("BEGIN EXCLUSIVE").unwrap();
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
    // A release waits for SQLite for 10 s, so nothing but the grace has ended it.
    let log = server.home().log();
    assert!(log.contains("the store does not answer"), "{log}");
    assert!(!log.contains("were not released"), "{log}");
}
