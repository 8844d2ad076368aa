//! What the server and systemd tell each other.

use std::net::TcpListener;
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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Clients that come before the server are served as well.
    let mut early = Client::connect(port);
    early.send(b"PING\r\n");

    let tool = home.tool(&["serve", "--resp", "systemd"]);
    let mut command = Command::new("sh");
    // The first socket is file 3; this process's own id, which only the child knows, is no condition.
    command.args(["-c", "exec 3<&0; exec \"$0\" \"$@\" </dev/null"]);
    command.arg(tool.get_program()).args(tool.get_args());
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("LISTEN_FDS", "1")
        .env("LISTEN_FDNAMES", "resp")
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "100000")
        .current_dir(home.path(""))
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stderr(Stdio::null());
    let mut child = spawn(command).unwrap();
    hear(&notify, "READY=1");
    hear(&notify, "WATCHDOG=1");
    hear(&notify, "WATCHDOG=1");
    assert_eq!(early.reply(), "+PONG");
    signal_process(&child, libc::SIGHUP);
    hear(&notify, "RELOADING=1");
    hear(&notify, "READY=1");
    signal_process(&child, libc::SIGTERM);
    hear(&notify, "STOPPING=1");
    drop(early);
    assert!(child.wait().unwrap().success());
}
