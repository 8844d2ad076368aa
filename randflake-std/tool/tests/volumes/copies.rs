//! Copies and backups whose files have the inode numbers of those that they were made of.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use harness::disk::{Disk, succeeds, unmount_when_free};
use randflake_std::lease::Loss;
use randflake_std::lease::{LeaseStore, MAX_SKEW, SqliteStore, StoreError};

use crate::{TTL, acquire, failed_precondition, namespace};

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

/// Each container has its own layer above the image's files, and an image may have been made of a store in use.
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
