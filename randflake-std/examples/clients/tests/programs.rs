//! Each program, in a folder of its own.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use randflake_std::Id;
use rusqlite::Connection;
use tempfile::TempDir;

/// What a program printed, and its folder.
fn run(program: &str) -> (String, TempDir) {
    let folder = TempDir::new().unwrap();
    let key = folder.path().join("randflake.key");
    fs::write(&key, "dffd6021bb2bd5b0af676290809ec3a5").unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let output = Command::new(program)
        .env("DATA", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), folder)
}

/// The numbers in the table of notes, and the ids that were printed: the second note's and the
/// first one's.
fn notes(program: &str) -> (Vec<i64>, [Id; 2]) {
    let (said, folder) = run(program);
    let said = said.strip_suffix(": Drink it\n").unwrap();
    let (second, first) = said.split_once(" follows ").unwrap();
    let shown = [second, first].map(|id| id.strip_prefix("note_").unwrap().parse().unwrap());
    let rows = Connection::open(folder.path().join("notes.db")).unwrap();
    let mut question = rows
        .prepare("SELECT id FROM notes ORDER BY follows IS NULL")
        .unwrap();
    let stored = question.query_map([], |row| row.get(0)).unwrap();
    (stored.map(Result::unwrap).collect(), shown)
}

#[test]
fn notes_with_rusqlite_and_sea_orm() {
    for program in [
        env!("CARGO_BIN_EXE_notes_rusqlite"),
        env!("CARGO_BIN_EXE_notes_sea_orm"),
    ] {
        let (stored, shown) = notes(program);
        assert_eq!(stored, shown.map(Id::to_i64), "{program}");
    }
}

#[test]
fn notes_with_diesel_are_stored_raw_and_ascend() {
    let (stored, shown) = notes(env!("CARGO_BIN_EXE_notes_diesel"));
    assert!(stored[0] > stored[1], "{stored:?}");
    for (raw, id) in stored.iter().zip(shown) {
        assert_ne!(*raw, id.to_i64());
    }
}
