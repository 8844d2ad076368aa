//! SQLite engine: conditional writes, lists and diagnosis.

use core::time::Duration;
use std::fs;

use randflake_lease::testkit::server::{find, namespaces};
use randflake_lease::unstable::engine::{
    Ask, Before, Engine, Entry, Key, Keys, Write, WriteOutcome,
};
use randflake_sqlite::ENGINE;
use rusqlite::Connection;

use super::{Place, acquire, failed_precondition};

/// Writes in the transaction of a read, in a window around its time; `None` is none.
fn write(engine: &mut dyn Engine, shift: Option<i64>, is_read: bool) -> WriteOutcome {
    let asked = [Keys::One(Key::Hint(0))];
    let reading = engine.read(&Ask::with_state(&asked)).unwrap();
    if !is_read {
        engine.abandon();
    }
    let now = reading.now.as_millis();
    let window = shift.map(|shift| {
        let begin = u64::try_from(now)
            .unwrap()
            .checked_add_signed(shift)
            .unwrap();
        let [begin, end] = [begin, begin + 10].map(Duration::from_millis);
        (begin, end)
    });
    let write = Write {
        fingerprint: reading.continuity.fingerprint,
        window,
        entries: vec![Entry {
            key: Key::Hint(0),
            before: Before::Anything,
            after: Some("text".to_owned()),
        }],
        ..Write::default()
    };
    engine.write(&write).unwrap()
}

#[test]
fn a_write_needs_its_read_and_its_time() {
    let place = Place::new();
    let mut store = place.open();
    let (engine, _) = store.internals().unwrap();
    for shift in [None, Some(0), Some(-10)] {
        assert_ne!(write(engine, shift, true), WriteOutcome::Stale, "{shift:?}");
        assert_eq!(
            write(engine, shift, false),
            WriteOutcome::Stale,
            "{shift:?}"
        );
    }
    for shift in [-11, 1] {
        assert_eq!(write(engine, Some(shift), true), WriteOutcome::Stale);
    }
}

/// Nobody else looks meanwhile, so the file does not grow.
#[test]
fn the_first_free_node_ids_are_leased() {
    let place = Place::new();
    let mut store = place.open();
    let first = acquire(&mut store).unwrap();
    let second = acquire(&mut store).unwrap();
    assert_eq!(second.node_id, (first.node_id + 1) % (1 << 17));
    store.release(&[first]).unwrap();
    place.pass(Duration::from_secs(100));
    assert_eq!(acquire(&mut place.open()).unwrap().node_id, first.node_id);
}

#[test]
fn a_refusal_names_the_file_once() {
    let place = Place::new();
    let path = place.database();
    drop(place.open());
    // The header is whole, and what it leads to is not.
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..].fill(0x55);
    fs::write(&path, bytes).unwrap();
    fs::remove_file(place.lock()).unwrap();
    let damaged = failed_precondition(place.try_open(&path));
    fs::write(&path, "").unwrap();
    fs::hard_link(&path, place.path("second")).unwrap();
    let linked = failed_precondition(place.try_open(&path));
    for sentence in [damaged, linked] {
        assert_eq!(sentence.matches("leases.db").count(), 1, "{sentence}");
    }
}

#[test]
fn a_diagnosis_tells_of_the_volume() {
    let findings = Place::new().open().administration().diagnose().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.name).collect();
    assert!(names.contains(&"volume"), "{names:?}");
}

/// A look makes nothing, and where nothing is, nothing is found.
#[test]
fn what_is_not_there_has_no_namespaces() {
    let place = Place::empty();
    for path in [place.database(), place.path("missing/leases.db")] {
        let url = format!("sqlite:{}", path.display());
        assert!(namespaces(&ENGINE, &url).unwrap().is_none());
        assert!(find(&ENGINE, &url, "orders").is_none());
        assert!(!path.exists());
    }
    fs::write(place.database(), "").unwrap();
    let url = format!("sqlite:{}", place.database().display());
    assert!(namespaces(&ENGINE, &url).unwrap().is_none());
    assert_eq!(place.files(), ["leases.db"]);
    // Another error than that is one.
    fs::write(place.path("file"), "").unwrap();
    let url = format!("sqlite:{}", place.path("file/leases.db").display());
    namespaces(&ENGINE, &url).unwrap_err();
}

#[test]
fn a_database_of_no_version_is_another_program_s() {
    let place = Place::new();
    drop(place.open());
    let connection = Connection::open(place.database()).unwrap();
    connection.pragma_update(None, "user_version", -1).unwrap();
    drop(connection);
    let sentence = failed_precondition(place.try_open(&place.database()));
    assert!(
        sentence.contains("another program's database"),
        "{sentence}"
    );
}

/// A log that was not moved into it, and a journal that was to be played back.
#[test]
fn journal_of_a_deleted_database_is_not_read() {
    for (mode, suffix) in [("wal", "-wal"), ("persist", "-journal")] {
        let place = Place::new();
        acquire(&mut place.open()).unwrap();
        let connection = Connection::open(place.database()).unwrap();
        connection
            .pragma_update(None, "journal_mode", mode)
            .unwrap();
        // So small a cache that pages are written before the commit.
        let changes = "PRAGMA cache_size = 1; BEGIN; CREATE TABLE other (text);
            WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many LIMIT 2000)
            INSERT INTO other SELECT hex(randomblob(500)) FROM many;";
        connection.execute_batch(changes).unwrap();
        if mode == "wal" {
            connection.execute_batch("COMMIT").unwrap();
        }
        let log = place.path(&format!("leases.db{suffix}"));
        let left = fs::read(&log).unwrap();
        assert_ne!(left[..8], [0; 8], "{mode}: it would be read");
        drop(connection);
        fs::remove_file(place.database()).unwrap();
        fs::write(&log, left).unwrap();
        let mut store = place.open();
        assert_eq!(store.list().unwrap(), [], "{mode}");
        let tables = Connection::open(place.database()).unwrap();
        let others = "SELECT count(*) FROM sqlite_schema WHERE name = 'other'";
        let others: i64 = tables.query_row(others, [], |row| row.get(0)).unwrap();
        assert_eq!(others, 0, "{mode}");
        super::quarantined(&mut store);
    }
}

/// Its path was taken by another store, which is not its original.
#[test]
fn renamed_store_is_no_copy_of_its_successor() {
    let place = Place::new();
    let grant = acquire(&mut place.open()).unwrap();
    let renamed = place.path("renamed.db");
    fs::rename(place.database(), &renamed).unwrap();
    for suffix in ["-journal", ".lock"] {
        let path = |name: &str| place.path(&format!("{name}{suffix}"));
        fs::rename(path("leases.db"), path("renamed.db")).unwrap();
    }
    super::grants_soon(&place);
    let mut store = place.try_open(&renamed).unwrap();
    assert_eq!(store.list().unwrap()[0].grant, grant);
    acquire(&mut store).unwrap();
}
