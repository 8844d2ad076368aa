//! A disk that is full: nothing is answered that is not kept, and once there is room the store goes
//! on.

use core::time::Duration;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::Instant;

use harness::disk::{Disk, enter_private_mounts, succeeds};
use randflake_std::lease::{Grant, LeaseStore, SqliteStore, StoreError};

use crate::{acquire_for, namespace};

/// No lease ends meanwhile, however slow the disk is: its node id would be granted again.
const TTL: u64 = 24 * 3_600;
const PATIENCE: Duration = Duration::from_secs(60);

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    acquire_for(store, TTL)
}

#[test]
fn a_full_disk_loses_no_lease() {
    let disk = Disk::new(8);
    let path = disk.path().join("leases.db");
    let namespace = namespace("orders").with_max_ttl(Duration::from_secs(TTL));
    let mut store = SqliteStore::open(&path, &namespace).unwrap();
    let mut granted = vec![acquire(&mut store).unwrap()];
    let ballast = disk.path().join("ballast");
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&ballast)
        .unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    // What the database and its journal have is written over; one more page is not to be had.
    let refused = loop {
        match acquire(&mut store) {
            Ok(grant) => granted.push(grant),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert!(refused.to_string().contains("leases.db"), "{refused}");
    drop(file);
    fs::remove_file(ballast).unwrap();
    // The file system has room again only a moment after it has written that down.
    File::open(disk.path()).unwrap().sync_all().unwrap();
    let begun = Instant::now();
    while let Err(error) = acquire(&mut store).map(|grant| granted.push(grant)) {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..2 {
        granted.push(acquire(&mut store).unwrap());
        let listed = store.list().unwrap();
        let kept: Vec<_> = listed.into_iter().map(|record| record.grant).collect();
        assert_eq!(kept, granted);
        store = SqliteStore::open(&path, &namespace).unwrap();
    }
}

/// An empty file that is left would refuse the next try, since no key is overwritten.
#[test]
fn keys_and_tokens_are_made_once_there_is_room() {
    enter_private_mounts();
    let folder = tempfile::tempdir().unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]);
    succeeds(mount.arg(folder.path()));
    let make = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command.args(words.split(' ')).current_dir(folder.path());
        command.output().unwrap()
    };
    let ballast = folder.path().join("ballast");
    for (words, name) in [
        ("keygen --out key", "key"),
        (
            "token new --name a --scopes ids --namespaces a --out token",
            "token",
        ),
    ] {
        // More than fits: what is written of it fills the volume.
        fs::write(&ballast, vec![0; 1 << 17]).unwrap_err();
        let output = make(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(name) && said.contains("No space left"),
            "{said}"
        );
        assert!(!folder.path().join(name).exists());
        fs::remove_file(&ballast).unwrap();
        assert!(make(words).status.success());
        assert!(fs::metadata(folder.path().join(name)).unwrap().len() > 32);
    }
}
