//! Faults of etcd alone: a leader that is lost, a snapshot that is restored. Trials of
//! `tests/faults`.

use core::time::Duration;
use std::fs;
use std::process::Command;
use std::thread;

use harness::etcd::EtcdCluster;
use libtest_mimic::Trial;
use randflake_std::lease;

use crate::fleet::Fleet;
use crate::issuer::{TTL, namespace};
use crate::scenarios::{begin, patiently};
use crate::trial;

pub(crate) fn trials() -> [Trial; 2] {
    [
        trial(
            "etcd::a_cluster_of_three_loses_its_leader",
            the_leader_is_lost,
        ),
        trial(
            "etcd::an_older_snapshot_is_restored_and_quarantined",
            an_older_snapshot_is_restored,
        ),
    ]
}

fn the_leader_is_lost() {
    let mut cluster = EtcdCluster::start(3);
    let mut fleet = Fleet::new(cluster.url(), "leader");
    begin(&cluster.url(), "leader");
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * 6)).collect();
    for _ in 0..2 {
        thread::sleep(TTL);
        let leader = cluster.leader(0).unwrap();
        let server = &mut cluster.members[leader].server;
        server.kill();
        running.push(fleet.try_start(TTL));
        thread::sleep(TTL / 2);
        server.restart();
    }
    fleet.finish(running);
}

/// The leases granted after the snapshot are forgotten, while their holders issue.
fn an_older_snapshot_is_restored() {
    let mut cluster = EtcdCluster::start(1);
    let url = cluster.url();
    let mut fleet = Fleet::new(url.clone(), "restore");
    begin(&url, "restore");
    let server = &mut cluster.members[0].server;
    let (data, snapshot) = (
        server.folder().join("data"),
        server.folder().join("snapshot"),
    );
    let copy = || {
        let copied = Command::new("cp")
            .arg("-a")
            .arg(&data)
            .arg(&snapshot)
            .status();
        assert!(copied.unwrap().success());
    };
    server.kill();
    copy();
    server.restart();

    let mut running: Vec<_> = (0..4).map(|_| fleet.start(TTL * 13)).collect();
    thread::sleep(TTL);
    let server = &mut cluster.members[0].server;
    server.kill();
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&snapshot, &data).unwrap();
    server.restart();
    // The administrator's first act.
    let wait = patiently(|| {
        lease::open(&url, &namespace("restore"))?
            .administration()
            .start_quarantine()
    });
    assert!(wait > Duration::from_secs(10), "{wait:?}");
    running.extend((0..4).map(|_| fleet.start(TTL * 11)));
    fleet.finish(running);
}
