//! Continuity of an SQLite store: deleted, restored and duplicated files are noticed.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use randflake_core::Snowflake;
use randflake_lease::unstable::engine::Look;
use randflake_lease::{
    AcquireRequest, LeaseStore, Loss, MAX_SKEW, Namespace, NodeIds, QuarantineCause, StoreError,
    Token,
};
use randflake_sqlite::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

use super::looks::is_lost;
use super::{
    Place, TTL, acquire, failed_precondition, grants_soon, namespace, quarantined, spawn_role,
};

/// Puts a file's earlier content back, into the same file.
fn restore_in_place(path: &Path, backup: &[u8]) {
    fs::write(path, backup).unwrap();
}

/// Puts a file's earlier content back, as another file of the same name.
fn restore_anew(path: &Path, backup: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, backup).unwrap();
    fs::rename(new, path).unwrap();
}

/// The longest TTL that a namespace may have had of which nothing is known.
const UNKNOWN: Duration = Duration::from_secs(300);

/// The quarantine is as long as it must be; when it is over, all is well, and stays so.
fn recovers(place: &Place, store: &mut LeaseStore) {
    let longest = store.namespace().max_ttl();
    recovers_after(place, store, longest);
}

fn recovers_after(place: &Place, store: &mut LeaseStore, longest: Duration) {
    let wait = quarantined(store);
    let due = longest + 2 * MAX_SKEW;
    assert!(
        wait >= due && wait.as_secs() <= due.as_secs() + 2,
        "{wait:?}"
    );
    place.pass(wait);
    acquire(store).unwrap();
    acquire(&mut place.open()).unwrap();
}

#[test]
fn a_new_store_grants_from_the_next_tick_on() {
    let place = Place::empty();
    grants_soon(&place);
    let mut store = place.open();
    let first = acquire(&mut store).unwrap();
    let second = acquire(&mut place.open()).unwrap();
    assert_ne!(first.node_id, second.node_id);
    let path = place.database().canonicalize().unwrap();
    assert!(format!("{store:?}").contains(&format!("{path:?}")));
}

#[test]
fn a_deleted_database_is_noticed_by_who_starts_next() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    fs::remove_file(place.database()).unwrap();
    recovers_after(&place, &mut place.open(), UNKNOWN);
}

#[test]
fn a_deleted_database_is_noticed_by_who_has_it_open() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    fs::remove_file(place.database()).unwrap();
    is_lost(&mut store, "the lease store that this process uses is gone");
    let said = failed_precondition(store.renew(&[grant], TTL));
    assert!(said.contains("makes no new one"), "{said}");
    // Not even the lock file.
    fs::remove_file(place.lock()).unwrap();
    assert_eq!(failed_precondition(acquire(&mut store)), said);
    assert_eq!(place.files(), ["leases.db-journal"]);

    // Who opens it makes it.
    let mut new = place.open();
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
    recovers_after(&place, &mut new, UNKNOWN);
}

#[test]
fn a_store_that_is_put_back_is_used_again() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    fs::rename(place.database(), place.path("away")).unwrap();
    is_lost(&mut store, "is gone");
    failed_precondition(store.renew(&[grant], TTL));
    fs::rename(place.path("away"), place.database()).unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    acquire(&mut store).unwrap();
}

#[test]
fn an_emptied_database_is_a_deleted_one() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    fs::write(place.database(), "").unwrap();
    recovers_after(&place, &mut place.open(), UNKNOWN);
}

/// Its holder does not know yet, and nothing in the new store tells of it: another node id, of a
/// later tick.
#[test]
fn replacing_store_leases_elsewhere_and_later() {
    let place = Place::new();
    let mut holder = place.open();
    let before = acquire(&mut holder).unwrap();
    let mut node_ids = BTreeSet::from([before.node_id]);
    let away = TempDir::new().unwrap();
    for n in 0..4 {
        // With the directory, whose lock the holder has.
        fs::rename(place.folder.path(), away.path().join(n.to_string())).unwrap();
        fs::create_dir(place.folder.path()).unwrap();
        let tick = place.tick();
        grants_soon(&place);
        let grant = place.open().list().unwrap()[0].grant;
        assert!(grant.start > tick, "{grant:?}");
        node_ids.insert(grant.node_id);
        place.pass(Duration::from_secs(1));
    }
    // Two of five that are equal are one chance in 13,000.
    assert_eq!(node_ids.len(), 5, "{node_ids:?}");
}

/// A chosen one, and one of few, is probably that of a holder from before.
#[test]
fn likely_leased_node_id_waits_for_a_look() {
    let few = Namespace::new("few", Snowflake).unwrap();
    for (namespace, nodes) in [
        (namespace("orders"), NodeIds::These(&[7])),
        (few, NodeIds::Any(1)),
    ] {
        let place = Place::empty();
        let clock = Arc::clone(&place.clock);
        let mut store = SqliteStore::open_with_clock(place.database(), &namespace, clock).unwrap();
        let mut acquire = || {
            let token = Token::random().unwrap();
            store.acquire(&AcquireRequest {
                token,
                holder: "holder",
                nodes,
                ttl: namespace.ticks(Duration::from_secs(60)),
            })
        };
        let Err(StoreError::Quarantined {
            retry_in,
            quarantine,
        }) = acquire()
        else {
            panic!("it grants");
        };
        assert_eq!(quarantine.cause, QuarantineCause::Young);
        let (least, most) = (Duration::from_secs(3), Duration::from_secs(4));
        assert!((least..=most).contains(&retry_in), "{retry_in:?}");
        place.pass(retry_in.saturating_sub(Duration::from_millis(1)));
        acquire().unwrap_err();
        place.pass(Duration::from_millis(1));
        acquire().unwrap();
    }
}

/// Two copies of a store are each noticed once, and then lease from places of their own.
#[test]
fn copies_of_a_store_lease_from_places_of_their_own() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let mut node_ids = BTreeSet::new();
    let content = fs::read(place.database()).unwrap();
    fs::remove_file(place.database()).unwrap();
    for name in ["one.db", "two.db"] {
        let path = place.path(name);
        fs::write(&path, &content).unwrap();
        let mut copy = place.try_open(&path).unwrap();
        place.pass(quarantined(&mut copy));
        node_ids.insert(acquire(&mut copy).unwrap().node_id);
    }
    assert_eq!(node_ids.len(), 2);
}

/// SQLite keeps a journal beside a database: it was there, though its lock file was deleted too.
#[test]
fn journal_without_a_database_counts_as_a_store() {
    for left in ["leases.db-journal", "leases.db-wal"] {
        let place = Place::new();
        acquire(&mut place.open()).unwrap();
        fs::rename(place.path("leases.db-journal"), place.path(left)).unwrap();
        fs::remove_file(place.database()).unwrap();
        fs::remove_file(place.lock()).unwrap();
        recovers_after(&place, &mut place.open(), UNKNOWN);
    }
}

/// Where the next run is interrupted too, after it has made the database's file.
#[test]
fn remains_of_a_store_count_until_the_next_one() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    fs::remove_file(place.database()).unwrap();
    fs::remove_file(place.lock()).unwrap();
    // A directory in the place of the database, so that the run is refused.
    fs::create_dir(place.path("leases.db-shm")).unwrap();
    place.try_open(&place.database()).unwrap_err();
    fs::remove_dir(place.path("leases.db-shm")).unwrap();
    fs::write(place.database(), "").unwrap();
    recovers_after(&place, &mut place.open(), UNKNOWN);
}

#[test]
fn what_an_interrupted_first_run_leaves_means_nothing() {
    let place = Place::empty();
    drop(place.open());
    let lock = fs::read(place.lock()).unwrap();
    for file in place.files() {
        fs::remove_file(place.path(&file)).unwrap();
    }
    // A lock file that says nothing, and one whose first write was lost.
    for content in [vec![], vec![0; lock.len()]] {
        fs::write(place.lock(), content).unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(place.lock(), permissions).unwrap();
        grants_soon(&place);
        for file in place.files() {
            fs::remove_file(place.path(&file)).unwrap();
        }
    }
}

#[test]
fn deleted_store_is_quarantined_by_who_remembers() {
    let place = Place::new();
    let mut remembers = place.open();
    acquire(&mut remembers).unwrap();
    for file in place.files() {
        fs::remove_file(place.path(&file)).unwrap();
    }
    let mut new = place.open();
    place.pass(Duration::from_secs(1));
    // Where the system has locks of open directories, who makes it finds that of the other one.
    if cfg!(not(target_os = "linux")) {
        acquire(&mut new).unwrap();
    }
    remembers.list().unwrap();
    quarantined(&mut new);
    recovers_after(&place, &mut remembers, UNKNOWN);
}

#[test]
fn a_backup_restored_in_place_is_noticed() {
    for restore in [restore_in_place, restore_anew] {
        let place = Place::new();
        let mut store = place.open();
        let before = acquire(&mut store).unwrap();
        let backup = fs::read(place.database()).unwrap();
        acquire(&mut store).unwrap();
        restore(&place.database(), &backup);
        // The backup knows this lease as its holder does; what it does not know waits.
        assert!(store.renew(&[before], TTL).unwrap().ends[0].is_ok());
        recovers(&place, &mut store);
    }
}

#[test]
fn a_backup_that_lacks_only_a_renewal_is_noticed() {
    let place = Place::new();
    let mut store = place.open();
    let grant = acquire(&mut store).unwrap();
    let backup = fs::read(place.database()).unwrap();
    place.clock.advance_ms(30_000);
    store.renew(&[grant], TTL).unwrap();
    restore_in_place(&place.database(), &backup);
    recovers(&place, &mut place.open());
}

#[test]
fn namespace_missing_in_a_backup_is_quarantined() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let backup = fs::read(place.database()).unwrap();
    let open_users = || {
        let clock = Arc::clone(&place.clock);
        SqliteStore::open_with_clock(place.database(), &namespace("users"), clock).unwrap()
    };
    acquire(&mut open_users()).unwrap();
    restore_in_place(&place.database(), &backup);
    quarantined(&mut place.open());
    quarantined(&mut open_users());
}

#[test]
fn a_quarantine_outlives_the_process_that_set_it() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    fs::remove_file(place.database()).unwrap();
    quarantined(&mut place.open());
    place.clock.advance_ms(100_000);
    let left = quarantined(&mut place.open());
    assert_eq!(left.as_secs(), 300 + 20 - 100);
    // A shorter one does not shorten it.
    place.open().administration().start_quarantine().unwrap();
    assert_eq!(quarantined(&mut place.open()).as_secs(), 300 + 20 - 100);
    place.clock.advance_ms(220_000);
    place.open().administration().start_quarantine().unwrap();
    assert_eq!(quarantined(&mut place.open()).as_secs(), 60 + 20);
}

#[test]
fn a_second_loss_does_not_shorten_the_quarantine() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let backup = fs::read(place.database()).unwrap();
    acquire(&mut place.open()).unwrap();
    restore_in_place(&place.database(), &backup);
    let first = quarantined(&mut place.open());
    // The clock of who notices the second is behind.
    place.clock.step_ms(-100_000);
    restore_anew(&place.database(), &fs::read(place.database()).unwrap());
    assert_eq!(
        quarantined(&mut place.open()).as_secs(),
        first.as_secs() + 100
    );
}

#[test]
fn an_unharmed_store_is_never_quarantined() {
    let place = Place::new();
    let mut store = place.open();
    acquire(&mut store).unwrap();

    // The lock file may go: the database knows all that it says.
    fs::remove_file(place.lock()).unwrap();
    acquire(&mut store).unwrap();
    acquire(&mut place.open()).unwrap();

    // So may what was written to it before the power was cut.
    fs::write(place.lock(), [0; 1_024]).unwrap();
    acquire(&mut store).unwrap();
    acquire(&mut place.open()).unwrap();

    // So may a process between commit and lock file.
    let lock = fs::read(place.lock()).unwrap();
    acquire(&mut store).unwrap();
    fs::write(place.lock(), lock).unwrap();
    acquire(&mut place.open()).unwrap();

    // A new name is no new file.
    let renamed = place.path("renamed.db");
    fs::rename(place.database(), &renamed).unwrap();
    acquire(&mut place.try_open(&renamed).unwrap()).unwrap();
    let copy = place.path("copy.db");
    fs::copy(&renamed, &copy).unwrap();
    let sentence = failed_precondition(place.try_open(&copy));
    assert!(sentence.contains("renamed.db"), "{sentence}");
}

#[test]
fn a_copy_is_refused_while_the_original_is_there() {
    let place = Place::new();
    let mut original = place.open();
    acquire(&mut original).unwrap();
    let copy = place.path("copy.db");
    fs::copy(place.database(), &copy).unwrap();
    for _ in 0..2 {
        let sentence = failed_precondition(place.try_open(&copy));
        let path = place.database().canonicalize().unwrap();
        assert!(sentence.contains(path.to_str().unwrap()), "{sentence}");
        assert!(sentence.contains("copy.db"), "{sentence}");
    }
    acquire(&mut original).unwrap();

    fs::remove_file(place.database()).unwrap();
    let mut copy = place.try_open(&copy).unwrap();
    place.pass(quarantined(&mut copy));
    acquire(&mut copy).unwrap();
}

#[test]
fn a_store_moved_to_another_disk_is_quarantined() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let moved = place.path("elsewhere/leases.db");
    fs::create_dir(place.path("elsewhere")).unwrap();
    fs::copy(place.database(), &moved).unwrap();
    fs::remove_file(place.database()).unwrap();
    let mut store = place.try_open(&moved).unwrap();
    place.pass(quarantined(&mut store));
    acquire(&mut store).unwrap();
    acquire(&mut place.try_open(&moved).unwrap()).unwrap();
}

/// Another program: reads the database, says so, and keeps it open until told to end.
pub(crate) fn reader(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_millis(100)).unwrap();
    let leases: i64 = connection
        .query_row("SELECT count(*) FROM record WHERE kind = 2", [], |row| {
            row.get(0)
        })
        .unwrap();
    eprintln!("read {leases}");
    io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn new_database_ignores_remains_of_a_deleted_one() {
    let place = Place::new();
    acquire(&mut place.open()).unwrap();
    let mut other = spawn_role("reader", &place, "");
    let mut lines = BufReader::new(other.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "read 1");
    assert!(place.files().contains(&"leases.db-journal".to_owned()));
    fs::remove_file(place.database()).unwrap();

    let mut store = place.open();
    assert_eq!(store.list().unwrap(), []);
    recovers_after(&place, &mut store, UNKNOWN);
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    acquire(&mut store).unwrap();
    assert_eq!(store.list().unwrap().len(), 3);
}
