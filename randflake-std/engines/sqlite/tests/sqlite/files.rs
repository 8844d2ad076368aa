//! Database files of other programs, shared files, and damaged ones.

use core::time::Duration;
use std::path::Path;
use std::sync::Barrier;
use std::{fs, thread};

use randflake_lease::testkit::server::namespaces;
use randflake_lease::{Finding, StoreError, Verdict};
use randflake_sqlite::ENGINE;
use rusqlite::Connection;

use super::{Place, TTL, acquire, failed_precondition, grants_soon};

#[test]
fn another_kind_of_file_is_refused_and_left_alone() {
    let place = Place::empty();
    let text = "dear diary, ".repeat(1_000);
    fs::write(place.database(), &text).unwrap();
    let sentence = failed_precondition(place.try_open(&place.database()));
    assert!(
        sentence.contains("leases.db: this is not an SQLite database"),
        "{sentence}"
    );
    assert_eq!(fs::read_to_string(place.database()).unwrap(), text);
    assert_eq!(place.files(), ["leases.db"]);
}

#[test]
fn database_of_another_program_is_left_alone() {
    for setup in [
        "CREATE TABLE users (name TEXT)",
        "PRAGMA application_id = 7; CREATE TABLE record (name TEXT)",
        "PRAGMA user_version = 1",
    ] {
        let place = Place::empty();
        let connection = Connection::open(place.database()).unwrap();
        connection.execute_batch(setup).unwrap();
        drop(connection);
        let before = fs::read(place.database()).unwrap();
        let sentence = failed_precondition(place.try_open(&place.database()));
        assert!(
            sentence.contains("another program's database"),
            "{sentence}"
        );
        assert_eq!(fs::read(place.database()).unwrap(), before);
    }
}

#[test]
fn a_newer_version_s_store_is_refused() {
    let place = Place::empty();
    drop(place.open());
    let connection = Connection::open(place.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let sentence = failed_precondition(place.try_open(&place.database()));
    assert!(
        sentence.contains("newer") && sentence.contains("update"),
        "{sentence}"
    );
}

/// Others may write to a store.
#[test]
fn a_list_of_namespaces_ends() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let url = format!("sqlite:{}", place.database().display());
    let listed = || namespaces(&ENGINE, &url).unwrap().unwrap();
    assert!(listed().is_complete);
    let connection = Connection::open(place.database()).unwrap();
    let copies = "WITH RECURSIVE copy(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < 10000)
        INSERT INTO record SELECT 'copy-' || copy.number, kind, record.number, value FROM record, copy";
    connection.execute_batch(copies).unwrap();
    let list = listed();
    assert_eq!(list.names.len() + list.damaged.len(), 10_000);
    assert!(!list.is_complete && list.damaged.is_empty());
}

#[test]
fn a_database_without_tables_becomes_a_store() {
    let place = Place::empty();
    fs::write(place.database(), "").unwrap();
    grants_soon(&place);

    let place = Place::empty();
    let connection = Connection::open(place.database()).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    drop(connection);
    grants_soon(&place);
}

/// As the `sqlite3` tool can: what is in the log is kept, and then there is none.
#[test]
fn a_write_ahead_log_that_somebody_has_set_is_ended() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    let connection = Connection::open(place.database()).unwrap();
    connection
        .pragma_update(None, "journal_mode", "wal")
        .unwrap();
    connection
        .execute_batch("CREATE INDEX somebody_s ON record (number)")
        .unwrap();
    drop(connection);
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    acquire(&mut place.open()).unwrap();
    assert_eq!(store.list().unwrap().len(), 2);
    let files = ["leases.db", "leases.db-journal", "leases.db.lock"];
    assert_eq!(place.files(), files);
}

#[test]
fn a_path_that_is_no_file_is_refused() {
    let place = Place::empty();
    fs::create_dir(place.database()).unwrap();
    failed_precondition(place.try_open(&place.database()));
    assert!(!place.lock().exists());
    for path in ["", "/", "."] {
        failed_precondition(place.try_open(Path::new(path)));
    }
    fs::write(place.path("file"), "").unwrap();
    let sentence = failed_precondition(place.try_open(&place.path("file/below.db")));
    assert!(!sentence.contains("volume"), "{sentence}");
}

#[test]
fn a_file_with_the_lock_file_s_name_is_left_alone() {
    let place = Place::empty();
    fs::write(place.lock(), "mine").unwrap();
    let sentence = failed_precondition(place.try_open(&place.database()));
    assert!(sentence.contains("leases.db.lock: "), "{sentence}");
    assert_eq!(fs::read_to_string(place.lock()).unwrap(), "mine");
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::super::{Place, acquire, failed_precondition, grants_soon};

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_can_read_it() {
        let place = Place::empty();
        let path = place.path("leases.db");
        grants_soon(&place);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&path.with_extension("db.lock")), 0o600);
    }

    #[test]
    fn a_missing_folder_is_refused_and_not_made() {
        let place = Place::empty();
        for path in ["new/leases.db", "new/folder/leases.db"] {
            let path = place.path(path);
            let sentence = failed_precondition(place.try_open(&path));
            let folder = path.parent().unwrap().display().to_string();
            assert!(
                sentence.starts_with(&folder) && sentence.contains("the directory is missing"),
                "{sentence}"
            );
            assert!(!place.path("new").exists());
        }
    }

    /// There is no volume to mount and no directory to create.
    #[test]
    fn a_path_below_a_file_is_told_as_that() {
        let place = Place::empty();
        fs::write(place.path("notes"), "no directory").unwrap();
        let sentence = failed_precondition(place.try_open(&place.path("notes/leases.db")));
        assert!(sentence.contains("Not a directory"), "{sentence}");
        assert!(!sentence.contains("is missing"), "{sentence}");
    }

    #[test]
    fn a_link_leads_to_the_same_store() {
        let place = Place::new();
        let mut store = place.open();
        let grant = acquire(&mut store).unwrap();
        let link = place.path("link.db");
        symlink(place.database(), &link).unwrap();
        let mut linked = place.try_open(&link).unwrap();
        assert_eq!(linked.list().unwrap()[0].grant, grant);
        assert_ne!(acquire(&mut linked).unwrap().node_id, grant.node_id);
        assert_eq!(format!("{linked:?}"), format!("{store:?}"));
        let files = [
            "leases.db",
            "leases.db-journal",
            "leases.db.lock",
            "link.db",
        ];
        assert_eq!(place.files(), files);

        fs::remove_file(place.database()).unwrap();
        let sentence = failed_precondition(place.try_open(&link));
        assert!(
            sentence.contains("link.db: this link leads nowhere"),
            "{sentence}"
        );
    }

    /// What a link leads to is neither made nor changed.
    #[test]
    fn a_link_beside_the_database_is_refused() {
        for name in ["leases.db.lock", "leases.db-journal", "leases.db-wal"] {
            for target in ["victim", "nothing"] {
                let place = Place::empty();
                let victim = place.path("victim");
                fs::write(&victim, "").unwrap();
                symlink(place.path(target), place.path(name)).unwrap();
                let sentence = failed_precondition(place.try_open(&place.database()));
                assert!(
                    sentence.contains(&format!("{name} is a symbolic link")),
                    "{sentence}"
                );
                assert!(!place.path("nothing").exists());
                assert_eq!(fs::read(&victim).unwrap(), b"");
            }
        }
    }

    #[test]
    fn a_database_that_becomes_a_link_is_refused() {
        let place = Place::new();
        let mut store = place.open();
        acquire(&mut store).unwrap();
        fs::rename(place.database(), place.path("moved.db")).unwrap();
        symlink(place.path("moved.db"), place.database()).unwrap();
        let sentence = failed_precondition(acquire(&mut store));
        assert!(
            sentence.contains("leases.db is a symbolic link"),
            "{sentence}"
        );
    }

    #[test]
    fn a_folder_that_others_may_change_is_refused() {
        let place = Place::empty();
        drop(place.open());
        for (mode, is_refused) in [
            (0o777, true),
            (0o1777, false),
            (0o770, false),
            (0o755, false),
        ] {
            let mode_of_folder = PermissionsExt::from_mode(mode);
            fs::set_permissions(place.folder.path(), mode_of_folder).unwrap();
            match place.try_open(&place.database()) {
                Ok(_) => assert!(!is_refused, "{mode:o}"),
                Err(error) => {
                    let sentence = failed_precondition::<()>(Err(error));
                    assert!(
                        is_refused && sentence.contains("has mode 0777"),
                        "{sentence}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_second_name_is_refused() {
        let place = Place::new();
        drop(place.open());
        fs::hard_link(place.database(), place.path("second.db")).unwrap();
        for path in ["leases.db", "second.db"] {
            let sentence = failed_precondition(place.try_open(&place.path(path)));
            assert!(sentence.contains("2 names"), "{sentence}");
        }
        fs::remove_file(place.path("second.db")).unwrap();
        acquire(&mut place.open()).unwrap();
    }
}

/// Does something while another program is in the middle of a transaction.
fn beside(path: &Path, sql: &str, work: impl FnOnce()) {
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let connection = Connection::open(path).unwrap();
            connection.execute_batch(sql).unwrap();
            ready.wait();
            thread::sleep(Duration::from_millis(200));
            connection.execute_batch("COMMIT").unwrap();
        });
        ready.wait();
        work();
    });
}

#[test]
fn other_programs_may_look_and_write() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    for sql in [
        "BEGIN; SELECT * FROM record",
        "BEGIN IMMEDIATE; SELECT * FROM record",
        "BEGIN EXCLUSIVE; SELECT * FROM record",
    ] {
        beside(&place.database(), sql, || {
            acquire(&mut place.open()).unwrap();
        });
    }
    assert_eq!(place.open().list().unwrap().len(), 4);
}

/// A damaged file may be read wrongly, but never makes us panic or name no path.
fn survives(place: &Place, damage: &str) {
    let complain = |error: StoreError| match error {
        StoreError::FailedPrecondition(_) | StoreError::Unavailable(_) => {
            let told = error.to_string();
            // What is compared never is what was read: as if another had written in between.
            let is_of_others = told.contains("other clients of the store were faster");
            assert!(
                told.contains("leases.db") || is_of_others,
                "{damage}: {error}"
            );
        }
        StoreError::Quarantined { .. } | StoreError::Exhausted { .. } => {}
        _ => panic!("{damage}: {error}"),
    };
    let mut store = match place.try_open(&place.database()) {
        Ok(store) => store,
        Err(error) => return complain(error),
    };
    let acquired = acquire(&mut store);
    if let Ok(grant) = acquired {
        store.renew(&[grant], TTL).map_or_else(complain, drop);
        store.release(&[grant]).unwrap_or_else(complain);
    }
    acquired.map_or_else(complain, drop);
    store.list().map_or_else(complain, drop);
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let place = Place::new();
    let mut store = place.open();
    for _ in 0..100 {
        acquire(&mut store).unwrap();
    }
    drop(store);
    let sound = fs::read(place.database()).unwrap();
    let lock = fs::read(place.lock()).unwrap();
    let damaged = |bytes: &[u8], damage: &str| {
        fs::write(place.database(), bytes).unwrap();
        fs::write(place.lock(), &lock).unwrap();
        survives(&place, damage);
    };
    for len in (0..sound.len()).step_by(sound.len() / 40) {
        damaged(&sound[..len], &format!("cut to {len}"));
    }
    for n in 0..300 {
        let mut bytes = sound.clone();
        let at = n * 7_919 % bytes.len();
        let end = (at + n % 9 + 1).min(bytes.len());
        bytes[at..end].fill(if n % 2 == 0 { 0xff } else { 0 });
        damaged(&bytes, &format!("filled from {at} to {end}"));
    }
}

#[test]
fn a_diagnosis_tells_of_damage() {
    let place = Place::new();
    let mut store = place.open();
    let wrong = |finding: &Finding| matches!(finding.verdict, Verdict::Wrong(_));
    assert!(!store.administration().diagnose().unwrap().iter().any(wrong));
    let damage = "PRAGMA ignore_check_constraints = on; UPDATE store SET only_row = 2";
    let connection = Connection::open(place.database()).unwrap();
    connection.execute_batch(damage).unwrap();
    let findings = store.administration().diagnose().unwrap();
    let wrong: Vec<_> = findings.into_iter().filter(wrong).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].name, "quick_check");
}

#[test]
fn values_that_make_no_sense_are_an_error() {
    for (damage, rest) in [
        ("UPDATE record SET value = '' WHERE kind = 2", "list"),
        ("UPDATE record SET value = CAST(x'ff' AS TEXT)", "text"),
        ("UPDATE record SET number = 1 << 32", "number"),
        ("UPDATE record SET value = '11:' WHERE kind = 0", "load"),
        ("UPDATE store SET writes = -1", "open"),
        ("DELETE FROM store", "open"),
        ("DROP TABLE record", "all"),
    ] {
        let place = Place::new();
        acquire(&mut place.open()).unwrap();
        let connection = Connection::open(place.database()).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let listed = place
            .try_open(&place.database())
            .and_then(|mut store| store.list());
        let sentence = failed_precondition(listed);
        assert!(sentence.contains("leases.db: "), "{rest}: {sentence}");
    }
}

/// The lock is given back by a process that has read what it does not understand.
#[test]
fn a_damaged_record_holds_up_nobody() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    let connection = Connection::open(place.database()).unwrap();
    let damage = "UPDATE record SET value = '11:' WHERE kind = 2";
    connection.execute_batch(damage).unwrap();
    drop(connection);
    let sentence = failed_precondition(store.renew(&[grant], TTL));
    let damaged = format!("node id {} of \"orders\": it is damaged", grant.node_id);
    assert!(sentence.contains(&damaged), "{sentence}");
    place.open().counter().status().unwrap();
}
