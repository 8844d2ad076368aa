//! A single file that is mounted without its directory, as `docker -v leases.db:/srv/leases.db` does.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use harness::disk::{enter_private_mounts, succeeds};
use randflake_std::lease::{NodeIdSource, SqliteStore, StaticStore};
use tempfile::TempDir;

use crate::{acquire, failed_precondition, namespace};

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

/// Its lock is on the file itself, but a file that is put in its place is not seen through the mount.
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
