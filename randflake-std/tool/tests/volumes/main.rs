//! Keys and stores in files: whose they are, and what becomes of them on file systems that are cut
//! off, full, copied, restored and mounted in pieces.
//!
//! Needs root, Linux and `mkfs.ext4`: `cargo xtask engines`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod full;
mod owners;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use harness::disk::{Disk, enter_private_mounts, succeeds, unmount_when_free};
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Loss, MAX_SKEW, Namespace, NodeIdSource, NodeIds,
    QuarantineCause, Record, SqliteStore, StaticStore, StoreError, Token,
};
use tempfile::TempDir;

const TTL: u64 = 60;

fn namespace(name: &str) -> Namespace {
    let namespace = Namespace::new(name, Randflake).unwrap();
    namespace.with_max_ttl(Duration::from_secs(2 * TTL))
}

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    acquire_for(store, TTL)
}

fn acquire_for(store: &mut LeaseStore, ttl: u64) -> Result<Grant, StoreError> {
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl,
    };
    loop {
        match store.acquire(&request) {
            Err(StoreError::Quarantined {
                retry_in,
                quarantine,
            }) if quarantine.cause == QuarantineCause::Young => thread::sleep(retry_in),
            acquired => return Ok(acquired?.grants[0]),
        }
    }
}

/// The sentence of a refusal that trying again cannot help.
fn failed_precondition<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::FailedPrecondition(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn open(path: &Path) -> Result<LeaseStore, StoreError> {
    SqliteStore::open(path, &namespace("orders"))
}

/// One in a folder of its own.
fn open_new(path: &Path) -> LeaseStore {
    fs::create_dir(path.parent().unwrap()).unwrap();
    open(path).unwrap()
}

fn is_quarantined(store: &mut LeaseStore) {
    let refused = acquire(store);
    let Err(StoreError::Quarantined { retry_in, .. }) = refused else {
        panic!("{refused:?}");
    };
    let due = store.namespace().max_ttl() + 2 * MAX_SKEW;
    assert!(retry_in + Duration::from_secs(5) > due, "{retry_in:?}");
}

/// `cp -a`, as an operator copies a folder.
fn copy(from: &Path, to: &Path) {
    succeeds(Command::new("cp").arg("-a").arg(from).arg(to));
}

fn inode(path: &Path) -> u64 {
    path.metadata().unwrap().ino()
}

#[test]
fn a_copy_beside_its_original_is_refused() {
    let [here, there] = [Disk::new(16), Disk::new(16)];
    let [original, copied] = [&here, &there].map(|disk| disk.path().join("store/leases.db"));
    let mut store = open_new(&original);
    acquire(&mut store).unwrap();
    copy(&here.path().join("store"), &there.path());
    assert_eq!(inode(&original), inode(&copied));
    for _ in 0..2 {
        let said = failed_precondition(open(&copied));
        assert!(said.contains(original.to_str().unwrap()), "{said}");
        acquire(&mut store).unwrap();
    }
    // As a restored store it begins in quarantine.
    fs::remove_dir_all(here.path().join("store")).unwrap();
    is_quarantined(&mut open(&copied).unwrap());
}

/// Each container sees its copy where the original was.
#[test]
fn a_copy_under_the_same_path_is_quarantined() {
    let [here, there] = [Disk::new(16), Disk::new(16)];
    let original = here.path().join("store/leases.db");
    acquire(&mut open_new(&original)).unwrap();
    copy(&here.path().join("store"), &there.path());
    let kept = inode(&original);
    let mut mount = Command::new("mount");
    succeeds(mount.arg("--bind").arg(there.path()).arg(here.path()));
    assert_eq!(inode(&original), kept);
    is_quarantined(&mut open(&original).unwrap());
}

/// The new files get the old ones' inode numbers.
#[test]
fn a_restored_folder_is_noticed_at_the_next_start() {
    const RUNS: usize = 10;
    let disk = Disk::new(16);
    let mut same = 0;
    for run in 0..RUNS {
        let folder = disk.path().join(format!("store-{run}"));
        let (path, backup) = (folder.join("leases.db"), disk.path().join("backup"));
        let mut holder = open_new(&path);
        let grant = acquire(&mut holder).unwrap();
        copy(&folder, &backup);
        let forgotten = acquire(&mut holder).unwrap();
        let before = inode(&path);
        fs::remove_dir_all(&folder).unwrap();
        copy(&backup, &folder);
        same += usize::from(inode(&path) == before);
        is_quarantined(&mut open(&path).unwrap());
        let ends = holder.renew(&[grant, forgotten], TTL).unwrap().ends;
        assert!(
            matches!(ends[..], [Ok(_), Err(Loss::Forgotten)]),
            "{ends:?}"
        );
        is_quarantined(&mut holder);
        fs::remove_dir_all(&backup).unwrap();
    }
    assert!(same > 0, "the file system never gave an inode number again");
}

/// Each container has its own layer above the image's files, and an image may have been made of a
/// store in use.
#[test]
fn two_containers_of_one_image_are_quarantined() {
    let disk = Disk::new(16);
    let folder = |name: &str| {
        let path = disk.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let container = |name: &str, layers: &str, upper: &str| {
        let root = folder(name);
        let (work, upper) = (folder(&format!("work-{name}")), folder(upper));
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o"]);
        mount.arg(format!(
            "lowerdir={layers},upperdir={},workdir={}",
            upper.display(),
            work.display()
        ));
        succeeds(mount.arg(&root));
        root
    };
    let base = folder("base");
    let built = container("builder", base.to_str().unwrap(), "layer");
    let mut builder = open(&built.join("leases.db")).unwrap();
    acquire(&mut builder).unwrap();
    let told = builder.administration().diagnose().unwrap();
    let volume = told
        .iter()
        .find(|finding| finding.name == "volume")
        .unwrap();
    assert_eq!(volume.value, "a container's own layer");
    // It has the directory open.
    drop(builder);
    unmount_when_free(&built);
    let image = format!("{}:{}", disk.path().join("layer").display(), base.display());
    for name in ["first", "second"] {
        let path = container(name, &image, &format!("own-{name}")).join("leases.db");
        is_quarantined(&mut open(&path).unwrap());
    }
}

const HOLDERS: usize = 3;
const BUDGET: Duration = Duration::from_secs(15);
/// On a machine that is too slow for as many in that time.
const FEWEST_CUTS: u32 = 20;
/// The most answers before a cut, and how long after the last: an operation or two.
const MOST_ANSWERS: u32 = 12;
const MOST_MICROS: u32 = 10_000;

/// A lease that was answered, by node id and fencing token, with its end.
type Answer = ((u32, u64), u64);

#[test]
fn no_answered_lease_is_lost_in_a_power_cut() {
    let disk = Disk::new(32);
    let path = disk.path().join("leases.db");
    let mut answered = BTreeMap::new();
    let mut cuts = 0;
    let begun = Instant::now();
    while begun.elapsed() < BUDGET || cuts < FEWEST_CUTS {
        let (sender, answers) = channel();
        thread::scope(|scope| {
            for _ in 0..HOLDERS {
                scope.spawn(|| hold(&path, &sender));
            }
            let before = random(MOST_ANSWERS) as usize;
            answered.extend(answers.iter().take(before));
            thread::sleep(Duration::from_micros(random(MOST_MICROS).into()));
            disk.cut();
        });
        drop(sender);
        answered.extend(answers);
        cuts += 1;
        disk.power_on();
        let mut store = SqliteStore::open(&path, &namespace("orders")).unwrap();
        let kept: BTreeMap<_, _> = store.list().unwrap().iter().map(answer).collect();
        for (lease, end) in &answered {
            let is_kept = kept.get(lease).is_some_and(|kept| kept >= end);
            assert!(is_kept, "cut {cuts} lost {lease:?} until {end}");
        }
        // A cut is no loss: nothing is fenced.
        let grant = acquire(&mut store).unwrap();
        answered.insert((grant.node_id, grant.fencing_token), grant.end);
    }
}

fn random(below: u32) -> u32 {
    getrandom::u32().unwrap() % below
}

fn answer(record: &Record) -> Answer {
    let grant = record.grant;
    ((grant.node_id, grant.fencing_token), grant.end)
}

/// Acquires and renews, and reports each answer, until the power fails.
fn hold(path: &Path, answers: &Sender<Answer>) {
    while let Ok(mut store) = SqliteStore::open(path, &namespace("orders")) {
        let Ok(grant) = acquire(&mut store) else {
            return;
        };
        let lease = (grant.node_id, grant.fencing_token);
        answers.send((lease, grant.end)).unwrap();
        // A TTL longer than the first: an end that was lost is seen.
        let Ok(renewed) = store.renew(&[grant], 2 * TTL) else {
            return;
        };
        answers.send((lease, renewed.ends[0].unwrap())).unwrap();
    }
}

fn mount_alone(from: &Path, to: &Path) {
    File::create(to).unwrap();
    succeeds(Command::new("mount").arg("--bind").arg(from).arg(to));
}

#[test]
fn a_database_mounted_alone_is_refused() {
    enter_private_mounts();
    let [host, container] = [(); 2].map(|()| TempDir::new().unwrap());
    let [outside, inside] = [&host, &container].map(|folder| folder.path().join("leases.db"));
    let open = |path: &Path| SqliteStore::open(path, &namespace("orders"));
    acquire(&mut open(&outside).unwrap()).unwrap();
    mount_alone(&outside, &inside);
    let said = failed_precondition(open(&inside));
    let sentence = "is mounted alone, and what belongs beside it is on another file system: mount its directory";
    assert!(
        said.contains("leases.db") && said.ends_with(sentence),
        "{said}"
    );
    acquire(&mut open(&outside).unwrap()).unwrap();

    // The same of its lock file.
    let inside = container.path().join("folder");
    fs::create_dir(&inside).unwrap();
    mount_alone(
        &host.path().join("leases.db.lock"),
        &inside.join("leases.db.lock"),
    );
    let said = failed_precondition(open(&inside.join("leases.db")));
    assert!(said.contains("leases.db.lock is mounted alone"), "{said}");
}

#[test]
fn a_mounted_directory_is_the_same_store() {
    enter_private_mounts();
    let [host, container] = [(); 2].map(|()| TempDir::new().unwrap());
    let open = |folder: &TempDir| {
        SqliteStore::open(folder.path().join("leases.db"), &namespace("orders")).unwrap()
    };
    let mut outside = open(&host);
    let mut leased = BTreeSet::from([acquire(&mut outside).unwrap().node_id]);
    let mut mount = Command::new("mount");
    succeeds(mount.arg("--bind").arg(host.path()).arg(container.path()));
    let mut inside = open(&container);
    leased.insert(acquire(&mut inside).unwrap().node_id);
    leased.insert(acquire(&mut outside).unwrap().node_id);
    assert_eq!(leased.len(), 3);
    assert_eq!(inside.list().unwrap(), outside.list().unwrap());
}

/// Its lock is on the file itself, but a file that is put in its place is not seen through the
/// mount.
#[test]
fn an_assigned_node_ids_file_mounted_alone_is_refused() {
    enter_private_mounts();
    let [host, container] = [(); 2].map(|()| TempDir::new().unwrap());
    let [outside, inside] = [&host, &container].map(|folder| folder.path().join("node"));
    let open = |path: &Path| StaticStore::open(path, NodeIdSource::Given(7), &namespace("orders"));
    open(&outside)
        .unwrap()
        .administration()
        .end_quarantine()
        .unwrap();
    mount_alone(&outside, &inside);
    assert!(failed_precondition(open(&inside)).contains("node is mounted alone"));
}

/// A ticket under a counter that was used is one that the device refuses.
#[test]
fn a_tickets_counter_outlives_a_power_cut() {
    let disk = Disk::new(16);
    let elsewhere = TempDir::new().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .arg("lease")
            .args(words)
            .env(
                "RANDFLAKE_STORE",
                format!("sqlite:{}/leases.db", disk.path().display()),
            )
            .env("XDG_STATE_HOME", elsewhere.path())
            .env("RANDFLAKE_TICKET_KEY", "000102030405060708090a0b0c0d0e0f");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["init"]);
    run(&["device", "d0e5", "--counter", "0"]);
    for number in 1..=5 {
        run(&["ticket", "--device", "d0e5"]);
        disk.cut();
        disk.power_on();
        let told = run(&["device", "d0e5"]);
        assert!(told.ends_with(&format!("has counter {number}\n")), "{told}");
    }
}
