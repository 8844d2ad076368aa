//! Files and directories of another user are not used, and neither are those that another may
//! change.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::disk::{enter_private_mounts, succeeds};
use randflake_std::lease::{NodeIdSource, SqliteStore, StaticStore};
use randflake_std::private_file::{FileRefusal, RefusalReason};
use randflake_std::{Secret, SecretError};
use tempfile::TempDir;

use crate::{acquire, failed_precondition, namespace};

const NOBODY: u32 = 65_534;
const SECRET: &str = "dffd6021bb2bd5b0af676290809ec3a5";

fn give_away(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn key_in(folder: &Path) -> PathBuf {
    let path = folder.join("key");
    Secret::from_hex(SECRET).unwrap().write_new(&path).unwrap();
    path
}

fn owner(outcome: Result<Secret, SecretError>) -> PathBuf {
    match outcome {
        Err(SecretError::File(FileRefusal {
            path,
            reason:
                RefusalReason::Owner {
                    uid: NOBODY,
                    process: 0,
                },
        })) => path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_of_another_user_is_refused() {
    let folder = TempDir::new().unwrap();
    let key = key_in(folder.path());
    give_away(&key);
    assert_eq!(owner(Secret::from_file(&key)), key);
    let said = Secret::from_file(&key).unwrap_err().to_string();
    let end = "belongs to uid 65534, and this process runs as uid 0: only its own uid and root are \
               trusted; run as that user, or change the owner";
    assert_eq!(said, format!("secret file: {} {end}", key.display()));
}

#[test]
fn keys_behind_other_users_links_are_refused() {
    let folder = TempDir::new().unwrap();
    let key = key_in(folder.path());
    let link = folder.path().join("link");
    symlink("key", &link).unwrap();
    Secret::from_file(&link).unwrap();
    give_away(&link);
    assert_eq!(owner(Secret::from_file(&link)), link);
    give_away(folder.path());
    assert_eq!(owner(Secret::from_file(&key)), folder.path());
}

#[test]
fn keys_in_directories_others_may_change_are_refused() {
    let folder = TempDir::new().unwrap();
    let key = key_in(folder.path());
    for (mode, is_allowed) in [(0o1777, true), (0o770, true), (0o755, true), (0o777, false)] {
        set_mode(folder.path(), mode);
        let read = Secret::from_file(&key);
        match read {
            Ok(_) => assert!(is_allowed, "{mode:o}"),
            Err(SecretError::File(FileRefusal {
                path,
                reason: RefusalReason::Writable { mode: found },
            })) => {
                assert_eq!(
                    (path.as_path(), found, is_allowed),
                    (folder.path(), mode, false)
                );
            }
            Err(other) => panic!("{mode:o}: {other}"),
        }
    }
    // Root is in no group but its own.
    chown(folder.path(), None, Some(NOBODY)).unwrap();
    set_mode(folder.path(), 0o770);
    assert!(matches!(
        Secret::from_file(&key),
        Err(SecretError::File(FileRefusal {
            reason: RefusalReason::Writable { mode: 0o770 },
            ..
        }))
    ));
}

/// Runs the tool as a user without rights, with a last argument; whether it succeeds, and what it
/// says.
fn run_as_nobody(folder: &Path, command: &str, last: &OsStr) -> (bool, String) {
    // Where it is built only its builder may go.
    let program = folder.join("randflake");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_randflake"), &program).unwrap();
    }
    let mut run = Command::new("setpriv");
    run.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    run.arg(program).args(command.split(' ')).arg(last);
    let output = run.current_dir("/").output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(told).unwrap())
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    set_mode(folder.path(), 0o755);
    let directory = folder.path().join("store");
    fs::create_dir(&directory).unwrap();
    let path = directory.join("leases.db");
    acquire(&mut SqliteStore::open(&path, &namespace("default")).unwrap()).unwrap();
    fs::remove_file(directory.join("leases.db.lock")).unwrap();
    for (file, mode) in [(&path, 0o600), (&directory, 0o500)] {
        set_mode(file, mode);
        give_away(file);
    }
    let url = format!("sqlite:{}", path.display());
    let (has_opened, said) = run_as_nobody(folder.path(), "lease status --store", url.as_ref());
    assert!(
        !has_opened && said.contains("leases.db.lock: Permission denied"),
        "{said}"
    );
    let who = format!(
        "this process runs as uid 65534, and {} belongs to uid 65534 and has mode 0500: let uid 65534 write there",
        directory.display()
    );
    assert!(said.contains(&who), "{said}");
}

/// As Kubernetes mounts a secret for a pod with an `fsGroup`: links in a sticky directory, and a
/// file of root's that the group may read.
#[test]
fn kubernetes_keys_are_read_by_the_pods_user_alone() {
    let folder = TempDir::new().unwrap();
    let volume = folder.path().join("volume");
    let version = volume.join("..2026_11_20");
    fs::create_dir_all(&version).unwrap();
    let key = key_in(&version);
    symlink("..2026_11_20", volume.join("..data")).unwrap();
    symlink("..data/key", volume.join("key")).unwrap();
    for (path, mode) in [
        (folder.path(), 0o755),
        (&volume, 0o1777),
        (&version, 0o755),
        (&key, 0o440),
    ] {
        set_mode(path, mode);
        chown(path, None, Some(NOBODY)).unwrap();
    }
    let compose = |mode| {
        set_mode(&key, mode);
        let command = "compose --time 1733706297 --node 42 --sequence 1 --key-file";
        run_as_nobody(folder.path(), command, volume.join("key").as_os_str())
    };
    assert_eq!(compose(0o440), (true, "3vgoe12ccb8gh\n".to_owned()));
    for (mode, shown) in [(0o444, "0444"), (0o644, "0644"), (0o460, "0460")] {
        let (is_read, said) = compose(mode);
        let refusal =
            format!("has mode {shown}, so that others may use it: 0600 and 0400 are allowed");
        assert!(!is_read && said.contains(&refusal), "{said}");
    }
    // A pod that runs as root.
    set_mode(&key, 0o440);
    Secret::from_file(volume.join("key")).unwrap();
}

/// As Kubernetes and Docker mount a secret unless told otherwise: all may read it, and nobody can
/// change that.
#[test]
fn world_readable_keys_in_read_only_mounts_warn() {
    enter_private_mounts();
    let folder = TempDir::new().unwrap();
    let mount = folder.path().join("mount");
    fs::create_dir(&mount).unwrap();
    set_mode(folder.path(), 0o755);
    let tmpfs = |options: &str| {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]);
        succeeds(command.arg(&mount));
    };
    tmpfs("mode=1777");
    let key = key_in(&mount);
    let compose = |mode| {
        succeeds(Command::new("mount").args(["-o", "remount,rw"]).arg(&mount));
        set_mode(&key, mode);
        succeeds(Command::new("mount").args(["-o", "remount,ro"]).arg(&mount));
        let command = "compose --time 1733706297 --node 42 --sequence 1 --key-file";
        run_as_nobody(folder.path(), command, key.as_os_str())
    };
    for mode in [0o444, 0o644] {
        let (is_read, said) = compose(mode);
        assert!(is_read && said.starts_with("3vgoe12ccb8gh\n"), "{said}");
        let warning = format!(
            "randflake: warning: every user of this machine or container may read the secret file {}: ",
            key.display()
        );
        assert!(said.contains(&warning), "{said}");
    }
    for mode in [0o446, 0o664, 0o445] {
        let (is_read, said) = compose(mode);
        assert!(
            !is_read && said.contains(&format!("has mode 0{mode:o}")),
            "{said}"
        );
    }
}

#[test]
fn a_store_of_another_user_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("leases.db");
    let open = || SqliteStore::open(&path, &namespace("orders"));
    acquire(&mut open().unwrap()).unwrap();
    for name in ["leases.db", "leases.db.lock", "leases.db-journal", ""] {
        let file = folder.path().join(name);
        give_away(&file);
        let said = failed_precondition(open());
        let begin = format!("{} belongs to uid 65534", file.display());
        let is_named = said.starts_with(begin.replace("/ belongs", " belongs").as_str());
        assert!(is_named, "{said}");
        chown(&file, Some(0), Some(0)).unwrap();
    }
    // A journal that is not there yet: somebody else's would be read into the database.
    let journal = folder.path().join("leases.db-wal");
    fs::write(&journal, "").unwrap();
    give_away(&journal);
    assert!(failed_precondition(open()).contains("leases.db-wal belongs to uid 65534"));
    fs::remove_file(journal).unwrap();
    for mode in [0o666, 0o602] {
        set_mode(&path, mode);
        assert!(
            failed_precondition(open())
                .contains(&format!("has mode 0{mode:o}, so that others may write"))
        );
    }
    set_mode(&path, 0o600);
    acquire(&mut open().unwrap()).unwrap();
}

/// As Kubernetes gives a volume to a pod with an `fsGroup`: root's, with the setgid bit, all files
/// for the group too.
#[test]
fn group_writable_files_need_the_groups_volume() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("leases.db");
    let open = || SqliteStore::open(&path, &namespace("orders"));
    acquire(&mut open().unwrap()).unwrap();
    let files =
        ["leases.db", "leases.db.lock", "leases.db-journal"].map(|name| folder.path().join(name));
    for file in &files {
        set_mode(file, 0o660);
        // This process is in the group, as everybody in it is.
        let said = failed_precondition(open());
        let refusal = format!("{} has mode 0660, so that others may write", file.display());
        assert!(said.starts_with(&refusal), "{said}");
        set_mode(file, 0o600);
    }
    set_mode(folder.path(), 0o2770);
    for file in &files {
        set_mode(file, 0o660);
    }
    acquire(&mut open().unwrap()).unwrap();
    // Another group's volume, and one that is not root's.
    chown(folder.path(), None, Some(NOBODY)).unwrap();
    set_mode(folder.path(), 0o2750);
    failed_precondition(open());
    for file in [&path, folder.path()] {
        chown(file, None, Some(0)).unwrap();
    }
    set_mode(folder.path(), 0o2770);
    set_mode(&path, 0o662);
    failed_precondition(open());
}

#[test]
fn node_id_files_of_other_users_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("node");
    let open = || StaticStore::open(&path, NodeIdSource::Given(7), &namespace("orders"));
    open().unwrap().administration().end_quarantine().unwrap();
    for file in [&path, folder.path()] {
        let mut opened = open().unwrap();
        give_away(file);
        let said = failed_precondition(open());
        assert!(
            said.starts_with(&format!("{} belongs to uid 65534", file.display())),
            "{said}"
        );
        // Also by who has opened it before.
        if file == path {
            failed_precondition(acquire(&mut opened));
        }
        chown(file, Some(0), Some(0)).unwrap();
    }
    acquire(&mut open().unwrap()).unwrap();
}

#[test]
fn a_doctor_tells_of_another_users_files() {
    let home = TempDir::new().unwrap();
    let state = home.path().join("randflake");
    let run = |argument: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .arg(argument)
            .env("XDG_STATE_HOME", home.path())
            .env_remove("RANDFLAKE_KEY");
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    run("generate");
    for (name, checks) in [
        ("", &["directory", "secret", "store"][..]),
        ("key", &["secret"]),
        ("leases.db", &["store"]),
        ("leases.db.lock", &["store"]),
    ] {
        let file = state.join(name);
        give_away(&file);
        let told = run("doctor");
        for check in checks {
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("problem  {check}")));
            assert!(
                line.is_some_and(|line| line.contains("belongs to uid 65534")),
                "{name}: {told}"
            );
        }
        chown(&file, Some(0), Some(0)).unwrap();
    }
    assert!(!run("doctor").contains("problem"));
}
