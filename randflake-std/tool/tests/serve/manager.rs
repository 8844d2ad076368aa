//! What the server and systemd tell each other.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use harness::server::{signal_process, spawn};

use crate::client::Client;
use crate::server::Home;

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
    // The first socket is file 3; this process's own id, which only the child knows, is no condition.
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
