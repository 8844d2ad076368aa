//! Lines on standard error: with the time unless a journal adds it, and dropped where they cannot
//! be written.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::server::Server;
use crate::server::wait_until;

#[test]
fn a_server_whose_log_is_on_a_full_disk_serves_on() {
    let (mut server, token) = Server::on_full_disk(&["--request-log", "--idle", "1h"]);
    assert_eq!(server.get_as(&token, "/v1/ids").status, 200);
    // Each of these is a line: a file of tokens that is wrong, and one that is read again.
    let tokens = fs::read_to_string(server.path("tokens")).unwrap();
    for (text, is_stale) in [("name=", "1"), (&*tokens, "0")] {
        fs::write(server.path("tokens"), text).unwrap();
        let stale = format!("randflake_serve_tokens_stale {is_stale}\n");
        wait_until(&format!("not {stale}"), || {
            server.get_as(&token, "/metrics").text().contains(&stale)
        });
    }
    assert_eq!(server.get_as(&token, "/v1/ids").status, 200);
    kill_process(Pid::from_child(&server.process), Signal::TERM).unwrap();
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
}

#[test]
fn log_lines_begin_with_the_time_outside_journals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // What was said of an option that is missing, the variable being that of another file than
    // standard error or not.
    let said = |is_journal: bool| {
        let log = File::create(&path).unwrap();
        let found = log.metadata().unwrap();
        let inode = found.ino() + u64::from(!is_journal);
        let mut server = Command::new(env!("CARGO_BIN_EXE_randflake"));
        server
            .arg("serve")
            .env("JOURNAL_STREAM", format!("{}:{inode}", found.dev()))
            .stderr(log);
        assert_eq!(server.status().unwrap().code(), Some(2));
        fs::read_to_string(&path).unwrap()
    };
    let plain = said(true);
    assert!(plain.starts_with("randflake: no address: "), "{plain}");
    let timed = said(false);
    let (time, rest) = timed.split_once(' ').unwrap();
    assert_eq!(rest, plain);
    assert!(humantime::parse_rfc3339(time).is_ok(), "{timed}");
}
