//! Handles and segments whose store's file is deleted under them: a look each second stops them.
//! With the usual TTL the next renewal would be too late.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use randflake_std::lease::{LeaseStore, Namespace, NodeIdSource, SqliteStore, StaticStore};
use randflake_std::segment::Segments;
use randflake_std::{Builder, Health, Plain, Randflake};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(15);

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

fn in_sqlite(folder: &Path) -> LeaseStore {
    SqliteStore::open(folder.join("leases.db"), &namespace()).unwrap()
}

fn in_static_file(folder: &Path) -> LeaseStore {
    let source = NodeIdSource::Given(7);
    StaticStore::open(folder.join("node"), source, &namespace()).unwrap()
}

fn delete_all(folder: &Path) {
    for file in fs::read_dir(folder).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

fn ends<T>(mut issue: impl FnMut() -> Option<T>) {
    let begun = Instant::now();
    while issue().is_some() {
        assert!(begun.elapsed() < PATIENCE, "it issues on");
    }
}

#[test]
fn a_handle_stops_when_its_file_is_gone() {
    for (open, said) in [
        (in_sqlite as fn(&Path) -> LeaseStore, ["is gone"; 2]),
        // By the look, and by what is tried after it.
        (in_static_file, ["deleted or replaced", "is gone"]),
    ] {
        let folder = TempDir::new().unwrap();
        let mut store = open(folder.path());
        store.administration().end_quarantine().unwrap();
        let handle = Builder::new(Randflake, Plain, store)
            .wait(PATIENCE)
            .build()
            .unwrap();
        delete_all(folder.path());
        ends(|| handle.generate_wait(Duration::from_secs(2)).ok());
        let Health::NotReady { error: Some(error) } = handle.health() else {
            panic!("{:?}", handle.health());
        };
        let error = error.to_string();
        assert!(said.iter().any(|said| error.contains(said)), "{error}");
        assert!(is_empty(folder.path()), "it made a file");
    }
}

#[test]
fn segments_stop_when_their_store_is_gone() {
    let folder = TempDir::new().unwrap();
    let mut store = in_sqlite(folder.path());
    store.counter().create().unwrap();
    let segments = Segments::builder(store).build().unwrap();
    assert!(segments.status().remaining >= 1_000);
    delete_all(folder.path());
    ends(|| (segments.status().remaining > 0).then(|| thread::sleep(Duration::from_millis(10))));
    assert!(segments.next().is_err());
    let error = segments.status().last_error.unwrap().to_string();
    assert!(error.contains("is gone"), "{error}");
    assert!(is_empty(folder.path()), "it made a file");
}
