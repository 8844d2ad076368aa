//! Files of assigned node ids: replaced files, torn writes, links and volumes.

use std::fs;

use randflake_std::lease::{
    LeaseStore, Loss, Namespace, NodeIdSource, QuarantineCause, StaticStore, StoreErrorKind,
    Verdict,
};
use randflake_std::unstable::engine::Look;

use super::{NODE, Place, WAIT, begins_in, failed_precondition};
use randflake_lease::testkit::leases::{Backend, TTL, acquire, acquire_one, eight, ticks};

#[test]
fn the_file_of_something_else_is_refused() {
    let place = Place::declared();
    for (node_id, namespace, said) in [
        (
            6,
            eight("orders"),
            "the file of node id 7, and this process has node id 6",
        ),
        (
            7,
            eight("users"),
            "the file of namespace \"orders\", not of \"users\"",
        ),
        (
            7,
            Namespace::new("orders", randflake_std::Snowflake).unwrap(),
            "other terms",
        ),
    ] {
        let refused = place.try_store(node_id, &namespace).unwrap_err();
        assert!(
            matches!(
                refused.kind(),
                StoreErrorKind::FailedPrecondition | StoreErrorKind::Terms
            ),
            "{refused:?}"
        );
        assert!(refused.to_string().contains(said), "{refused}");
    }
    let refused = place.try_store(8, &eight("orders")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "node id 8 is out of range: 0 to 7 are allowed"
    );

    for text in ["dear diary", &"dear diary, ".repeat(100)] {
        fs::write(place.path(), text).unwrap();
        let sentence = failed_precondition(place.try_store(NODE, &eight("orders")));
        assert!(sentence.contains("is not the file of an assigned node id"));
    }
    // A sector that is damaged, zeros that are more than two, and something behind them.
    let place = Place::declared();
    let whole = fs::read(place.path()).unwrap();
    let mut damaged = whole[..512].to_vec();
    damaged[100] ^= 1;
    let longer = [&whole[..512], &[0; 513][..]].concat();
    for bytes in [damaged, vec![0; 2 * 512 + 1], longer] {
        fs::write(place.path(), bytes).unwrap();
        let sentence = failed_precondition(place.try_store(NODE, &eight("orders")));
        assert!(sentence.contains("it is damaged"), "{sentence}");
    }
    // What a kill or a cut of the power leaves of the first write.
    for text in ["", "randflake n", &"\0".repeat(512)] {
        fs::write(place.path(), text).unwrap();
        assert_eq!(place.store().list().unwrap(), []);
    }
}

#[test]
fn a_missing_directory_is_refused() {
    let place = Place::new();
    let path = place.folder.path().join("volume/node");
    let opened = StaticStore::open(&path, NodeIdSource::Given(NODE), &eight("orders"));
    let sentence = failed_precondition(opened);
    assert!(sentence.contains("is its volume mounted?"), "{sentence}");
    assert!(!path.parent().unwrap().exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_volume_that_vanishes_with_the_machine_is_told() {
    // Always in memory, unlike the folder for temporary files.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("node");
    let mut store = StaticStore::open(path, NodeIdSource::Given(NODE), &eight("orders")).unwrap();
    let mut findings = store.administration().diagnose().unwrap().into_iter();
    let volume = findings.find(|finding| finding.name == "volume").unwrap();
    assert_eq!(volume.value, "in memory");
    assert!(
        matches!(&volume.verdict, Verdict::Caution(sentence) if sentence.contains("persistent volume")),
        "{volume:?}"
    );
}

#[test]
fn torn_write_keeps_what_was_answered() {
    const SLOT: usize = 512;
    let place = Place::declared();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    let before = fs::read(place.path()).unwrap();
    place.pass(ticks(5));
    store.renew(&[grant], TTL).unwrap();
    drop(store);
    let after = fs::read(place.path()).unwrap();
    let changed = (0..after.len()).find(|&at| before.get(at) != after.get(at));
    let begin = changed.unwrap() / SLOT * SLOT;
    for written in 0..SLOT {
        let mut torn = after.clone();
        torn[begin + written..begin + SLOT].copy_from_slice(&before[begin + written..begin + SLOT]);
        fs::write(place.path(), torn).unwrap();
        let end = place.store().list().unwrap()[0].grant.end;
        assert!(end == grant.end || end == grant.end + 5, "{written}: {end}");
    }
}

/// What it leads to is neither made nor changed.
#[cfg(unix)]
#[test]
fn a_link_is_refused() {
    let place = Place::new();
    let victim = place.folder.path().join("victim");
    for target in ["victim", "nothing"] {
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(target, place.path()).unwrap();
        let sentence = failed_precondition(place.try_store(NODE, &eight("orders")));
        assert!(sentence.contains("node is a symbolic link"), "{sentence}");
        fs::remove_file(place.path()).unwrap();
        // Also when it is put there only then.
        let mut store = place.store();
        std::os::unix::fs::symlink(target, place.path()).unwrap();
        failed_precondition(acquire(&mut store, 1, 1));
        assert_eq!(fs::read(&victim).unwrap(), b"");
        assert!(!place.folder.path().join("nothing").exists());
        fs::remove_file(place.path()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_second_name_is_refused() {
    let place = Place::declared();
    fs::hard_link(place.path(), place.folder.path().join("second")).unwrap();
    let sentence = failed_precondition(place.try_store(NODE, &eight("orders")));
    assert!(sentence.contains("node has 2 names"), "{sentence}");
}

fn is_lost(store: &mut LeaseStore, why: &str) {
    let found = store.look().unwrap();
    assert!(
        matches!(&found, Look::Lost(said) if said.contains(why)),
        "{found:?}"
    );
}

/// What the process has seen is written again by its next renewal; until then it would be forgotten
/// if it were killed.
#[cfg(unix)]
#[test]
fn overwritten_file_is_noticed_by_its_holder() {
    let place = Place::declared();
    let mut store = place.store();
    let backup = fs::read(place.path()).unwrap();
    let grant = acquire_one(&mut store, 1);
    let now = fs::read(place.path()).unwrap();
    for content in [&backup[..], b"dear diary", b""] {
        fs::write(place.path(), content).unwrap();
        is_lost(&mut store, "overwritten");
    }
    fs::write(place.path(), now).unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    fs::write(place.path(), backup).unwrap();
    place.pass(ticks(20));
    let end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    drop(store);
    assert_eq!(place.store().list().unwrap()[0].grant.end, end);
}

#[cfg(unix)]
#[test]
fn deleted_file_is_not_renewed() {
    let place = Place::declared();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    place.pass(ticks(20));
    store.renew(&[grant], TTL).unwrap();
    assert_eq!(store.look().unwrap(), Look::Same);
    place.lose_memory();
    is_lost(&mut store, "deleted or replaced");
    let sentence = failed_precondition(store.renew(&[grant], TTL));
    assert!(sentence.contains("deleted or replaced"), "{sentence}");
    let sentence = failed_precondition(store.renew(&[grant], TTL));
    assert!(sentence.contains("makes no new one"), "{sentence}");
    assert!(!place.path().exists());
    // Who begins makes a file, and waits as for any.
    let (wait, _) = begins_in(&place, &mut place.store(), 2);
    assert_eq!(wait, ticks(WAIT));
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
}

/// A copy in its place, which was made when less was leased; or the file itself, on another disk.
#[cfg(unix)]
#[test]
fn restored_or_moved_file_is_quarantined() {
    let place = Place::declared();
    let copy = place.folder.path().join("copy");
    fs::copy(place.path(), &copy).unwrap();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    drop(store);
    fs::rename(&copy, place.path()).unwrap();
    // Known by the file alone, and known once: the next start does not wait anew.
    place.store();
    place.pass(ticks(30));
    let mut store = place.store();
    let quarantine = store
        .administration()
        .current_quarantine()
        .unwrap()
        .unwrap();
    assert_eq!(quarantine.cause, QuarantineCause::Lost);
    let (wait, next) = begins_in(&place, &mut store, 2);
    assert_eq!(wait, ticks(WAIT - 30));
    assert!(next.start >= grant.end, "{next:?} after {grant:?}");
}

/// The volume of another pod, or one that was restored to another name.
#[test]
fn another_pods_file_is_refused_and_stays_as_it_was() {
    let place = Place::declared();
    let grant = acquire_one(&mut place.store(), 1);
    let before = fs::read(place.path()).unwrap();
    let sentence = failed_precondition(place.try_store(NODE - 1, &eight("orders")));
    assert!(sentence.contains("do not delete the file"), "{sentence}");
    assert_eq!(fs::read(place.path()).unwrap(), before);
    assert_eq!(place.store().list().unwrap()[0].grant, grant);
}
