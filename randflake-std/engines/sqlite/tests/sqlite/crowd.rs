//! Many threads and processes on one database, some of them killed or stopped.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Barrier;
use std::thread;

use randflake_core::Clock as _;
use randflake_lease::testkit::leases::patiently;
use randflake_lease::{ExactSystemClock, Grant, StoreError};
use randflake_sqlite::SqliteStore;

use super::{Place, TTL, acquire, namespace, spawn_role};

const CROWD: usize = 100;

fn open_and_acquire(path: &Path) -> Grant {
    // On a slow disk the crowd may have the lock for longer than one of it waits.
    let mut store = patiently(|| SqliteStore::open(path, &namespace("orders"))).unwrap();
    patiently(|| acquire(&mut store)).unwrap()
}

#[test]
fn threads_that_all_create_the_store() {
    let place = Place::new();
    let path = place.database();
    let start = Barrier::new(CROWD);
    let node_ids: BTreeSet<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CROWD)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    open_and_acquire(&path).node_id
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(node_ids.len(), CROWD);
}

/// Acquires one node id after the other, and reports each.
pub(crate) fn acquirer(path: &Path, acquires: &str) {
    for _ in 0..acquires.parse::<u32>().unwrap() {
        let grant = open_and_acquire(path);
        // In one piece, or not at all.
        let line = format!("granted {} {} {}\n", grant.node_id, grant.start, grant.end);
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

fn spawn(place: &Place, acquires: u32) -> Child {
    spawn_role("acquirer", place, &acquires.to_string())
}

/// Node id, start and end of each grant that a process has reported.
fn reports(child: &mut Child) -> impl Iterator<Item = (u32, u64, u64)> + use<> {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let words = line.strip_prefix("granted ")?;
        let [node_id, start, end] = words.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some((
            node_id.parse().ok()?,
            start.parse().ok()?,
            end.parse().ok()?,
        ))
    })
}

#[test]
fn processes_that_all_create_the_store() {
    let place = Place::new();
    let mut children: Vec<_> = (0..CROWD).map(|_| spawn(&place, 1)).collect();
    let mut node_ids = BTreeSet::new();
    for child in &mut children {
        node_ids.extend(reports(child).map(|(node_id, ..)| node_id));
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(node_ids.len(), CROWD);
}

#[test]
fn grants_of_a_killed_process_are_not_repeated() {
    let place = Place::new();
    let mut granted = BTreeSet::new();
    for reported in [1, 10, 25, 50] {
        let mut children = [spawn(&place, u32::MAX), spawn(&place, u32::MAX)];
        let mut lines = children.each_mut().map(reports);
        for lines in &mut lines {
            granted.extend(lines.take(reported));
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for lines in &mut lines {
            granted.extend(lines);
        }
    }
    // No lease is over yet, so every one is of another node id, and in the store.
    let mut store = SqliteStore::open(place.database(), &namespace("orders")).unwrap();
    let records = store.list().unwrap();
    let kept: BTreeSet<_> = records
        .iter()
        .map(|record| record.grant)
        .map(|grant| (grant.node_id, grant.start, grant.end))
        .collect();
    assert!(granted.len() >= 2 * 86, "{granted:?}");
    let lost: Vec<_> = granted.difference(&kept).collect();
    assert!(lost.is_empty(), "{lost:?}");
    acquire(&mut store).unwrap();
}

/// The process that holds the lock is stopped in the middle of an operation, as by a debugger or a
/// frozen container.
#[cfg(unix)]
#[test]
fn process_stopped_in_an_operation_is_named() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

    let place = Place::new();
    // The child goes by this machine's clock, by which the lease must not have expired.
    let unix_ms = ExactSystemClock.now().unwrap().as_millis();
    let an_hour_ahead = u64::try_from(unix_ms).unwrap() + 3_600_000;
    place.clock.set_unix_ms(an_hour_ahead);
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    let mut child = spawn(&place, 1_000_000);
    let process = Pid::from_child(&child);
    loop {
        kill_process(process, Signal::STOP).unwrap();
        // It stops a while after the signal, and until then it may give the lock back.
        waitpid(Some(process), WaitOptions::UNTRACED).unwrap();
        let lock = File::options().write(true).open(place.lock()).unwrap();
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            break;
        }
        drop(lock);
        kill_process(process, Signal::CONT).unwrap();
        // So that it gets on.
        thread::sleep(Duration::from_millis(3));
    }
    let error = store.renew(&[grant], 12).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(
        error
            .to_string()
            .contains("have held the lock for 2s: if one of them is stopped"),
        "{error}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let renewed = store.renew(&[grant], TTL).unwrap();
    assert!(renewed.ends[0].is_ok(), "{renewed:?}");
}
