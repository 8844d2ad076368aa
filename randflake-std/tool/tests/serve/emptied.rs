//! A database server comes back without its data, as a container without its volume does, while a server issues ids: what
//! clients see of it, who send nothing but `INCR`.

use core::time::Duration;
use std::collections::HashSet;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Instant;

use harness::postgres::PostgresServer;

use crate::client::Client;
use crate::server::{Home, Server};

const TTL: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(1);

/// New ids of a server, until that is so. Refusals are none.
fn issued(client: &mut Client, ids: &mut Vec<String>, mut is_over: impl FnMut(&[String]) -> bool) {
    let begun = Instant::now();
    while !is_over(ids) {
        assert!(
            begun.elapsed() < TTL * 15,
            "it does not end: {} ids",
            ids.len()
        );
        let told = client.ask(&["INCR", "default"]);
        if let Some(id) = told.strip_prefix(':') {
            ids.push(id.to_owned());
        }
        thread::sleep(PAUSE);
    }
}

#[test]
fn no_id_repeats_after_the_database_came_back_empty() {
    let postgres = PostgresServer::start();
    let remake = || {
        let mut client = postgres.client("postgres");
        for statement in [
            "DROP DATABASE IF EXISTS ids WITH (FORCE)",
            "CREATE DATABASE ids",
        ] {
            client.batch_execute(statement).unwrap();
        }
    };
    remake();
    let url = postgres.url("ids");
    let home = Home::new();
    home.write("key", "dffd6021bb2bd5b0af676290809ec3a5\n");
    set_permissions(home.path("key"), Permissions::from_mode(0o600)).unwrap();
    let init = ["lease", "init", "--yes", "--no-wait", "--store", &url];
    home.ask(&init);
    let arguments = ["--store", &url, "--key-file", "key", "--ttl", "4s"];
    let beside = home.beside();
    let old = Server::start_with(home, &arguments);
    let (mut of_old, mut of_new) = (Vec::new(), Vec::new());
    let mut client = old.connect();
    issued(&mut client, &mut of_old, |ids| ids.len() >= 100);

    remake();
    // It knows of nothing, as every server does that is started from now on.
    let new = Server::begin(beside, &arguments);
    let mut other = new.connect();
    let mut last = (Instant::now(), of_old.len());
    issued(&mut client, &mut of_old, |ids| {
        let told = other.ask(&["INCR", "default"]);
        assert!(told.starts_with('-'), "{told}");
        if ids.len() > last.1 {
            last = (Instant::now(), ids.len());
        }
        last.0.elapsed() > TTL * 2
    });
    old.home().wait_for("were forgotten by the store");
    new.home().wait_for("nothing is granted until");
    let refused = old.home().tool(&init).output().unwrap();
    assert!(!refused.status.success(), "it was declared new");

    // Every lease from before has expired by now, as by itself after 320 s.
    let end = ["lease", "quarantine", "--end", "--store", &url];
    old.home().ask(&end);
    for (client, ids) in [(&mut client, &mut of_old), (&mut other, &mut of_new)] {
        let before = ids.len();
        issued(client, ids, |ids| ids.len() >= before + 100);
    }
    let all: HashSet<_> = of_old.iter().chain(&of_new).collect();
    assert_eq!(all.len(), of_old.len() + of_new.len());
}
