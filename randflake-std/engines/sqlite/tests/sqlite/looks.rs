//! Looks of a running process at its files, and what the next process learns of it.

use core::time::Duration;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Child;

use randflake_lease::unstable::engine::Look;
use randflake_lease::{CounterErrorKind, LeaseStore};
use randflake_sqlite::SqliteStore;
use rusqlite::Connection;

use super::{
    Place, TTL, acquire, failed_precondition, grants_soon, namespace, quarantined, spawn_role,
};

/// What a look finds that tells a holder to stop.
pub(super) fn is_lost(store: &mut LeaseStore, why: &str) {
    let found = store.look().unwrap();
    assert!(
        matches!(&found, Look::Lost(said) if said.contains(why) && said.contains("leases.db")),
        "{found:?}"
    );
}

#[test]
fn what_others_do_with_a_store_is_no_loss() {
    let place = Place::new();
    let mut store = place.open();
    assert_eq!(store.look().unwrap(), Look::Same);
    acquire(&mut store).unwrap();
    acquire(&mut place.open()).unwrap();
    fs::remove_file(place.lock()).unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    let other = Connection::open(place.database()).unwrap();
    for sql in [
        "BEGIN IMMEDIATE",
        "COMMIT; BEGIN EXCLUSIVE",
        "COMMIT; VACUUM",
    ] {
        other.execute_batch(sql).unwrap();
        assert_eq!(store.look().unwrap(), Look::Same, "{sql}");
    }
    acquire(&mut store).unwrap();
}

#[test]
fn a_file_that_is_another_or_older_or_damaged_is_lost() {
    let place = Place::new();
    let path = place.database();
    let mut store = place.open();
    acquire(&mut store).unwrap();
    let backup = fs::read(&path).unwrap();
    let grant = acquire(&mut store).unwrap();
    let now = fs::read(&path).unwrap();

    fs::write(&path, &backup).unwrap();
    is_lost(&mut store, "went back");
    fs::write(&path, "dear diary").unwrap();
    is_lost(&mut store, "no lease store any more");
    fs::write(&path, "").unwrap();
    is_lost(&mut store, "no lease store any more");
    // Nothing was decided from any of these.
    fs::write(&path, &now).unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());

    fs::rename(&path, place.path("away")).unwrap();
    is_lost(&mut store, "is gone");
    fs::copy(place.path("away"), &path).unwrap();
    is_lost(&mut store, "another file");
}

/// By the first operation of anybody, after which there are more writes than before.
#[test]
fn loss_noticed_by_another_process_is_checked() {
    let place = Place::new();
    let mut store = place.open();
    let before = acquire(&mut store).unwrap();
    let backup = fs::read(place.database()).unwrap();
    let after = acquire(&mut store).unwrap();
    fs::write(place.database(), backup).unwrap();
    quarantined(&mut place.open());
    assert_eq!(store.look().unwrap(), Look::Changed);
    let ends = store.renew(&[before, after], TTL).unwrap().ends;
    assert!(ends[0].is_ok() && ends[1].is_err(), "{ends:?}");
    assert_eq!(store.look().unwrap(), Look::Same);
}

/// SQLite's locks are the process's, and closing any other descriptor of the file would end them.
#[cfg(unix)]
#[test]
fn looks_and_opens_end_no_own_transaction() {
    let place = Place::new();
    let mut store = place.open();
    acquire(&mut store).unwrap();
    let connection = Connection::open(place.database()).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    // Without a lock file an opening looks whether the file is another program's; the link ends it
    // before it waits.
    fs::remove_file(place.lock()).unwrap();
    std::os::unix::fs::symlink("nothing", place.path("leases.db-wal")).unwrap();
    assert!(failed_precondition(place.try_open(&place.database())).contains("-wal"));
    let mut other = spawn_role("reader", &place, "");
    assert!(!other.wait().unwrap().success(), "it could read");
}

/// Has a lease until it is told to end.
pub(crate) fn holder(path: &Path) {
    let mut store = SqliteStore::open(path, &namespace("orders")).unwrap();
    acquire(&mut store).unwrap();
    eprintln!("granted");
    io::stdin().read_line(&mut String::new()).unwrap();
}

fn start_holder(place: &Place) -> Child {
    let mut child = spawn_role("holder", place, "");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "granted");
    child
}

fn delete_all(place: &Place) {
    for name in place.files() {
        fs::remove_file(place.path(&name)).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn new_store_waits_only_beside_a_running_process() {
    let place = Place::new();
    let mut child = start_holder(&place);
    // Another store in the directory is not concerned.
    let other = place.path("other.db");
    let mut other = place.try_open(&other).unwrap();
    place.pass(Duration::from_secs(1));
    acquire(&mut other).unwrap();
    delete_all(&place);
    quarantined(&mut place.open());
    // Once: the new one knows of it from now on.
    let fingerprint = |place: &Place| {
        let findings = place.open().administration().diagnose().unwrap();
        findings
            .into_iter()
            .find(|it| it.name == "quarantine")
            .unwrap()
    };
    assert_eq!(fingerprint(&place), fingerprint(&place));

    delete_all(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    grants_soon(&place);
}

/// With the lock file, as `cp -a backup/. state/` does. Each has the count of writes that the other
/// one lacks.
#[cfg(target_os = "linux")]
#[test]
fn next_start_notices_overwritten_files() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let backup = [place.database(), place.lock()].map(|path| (fs::read(&path).unwrap(), path));
    let mut child = start_holder(&place);
    for (content, path) in backup {
        fs::write(path, content).unwrap();
    }
    quarantined(&mut place.open());
    child.kill().unwrap();
    child.wait().unwrap();
    quarantined(&mut place.open());
}

#[test]
fn overwritten_counter_reserves_no_number() {
    let place = Place::new();
    let mut first = place.open();
    first.counter().create().unwrap();
    let backup = [place.database(), place.lock()].map(|path| (fs::read(&path).unwrap(), path));
    assert_eq!(first.counter().reserve(1_000).unwrap().first(), 1);
    for (content, path) in backup {
        fs::write(path, content).unwrap();
    }
    is_lost(&mut first, "went back");
    for store in [&mut place.open(), &mut first] {
        let refused = store.counter().reserve(1_000).unwrap_err();
        assert_eq!(refused.kind(), CounterErrorKind::Lost, "{refused}");
    }
}
