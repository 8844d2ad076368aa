//! The benchmark goes through all of its steps, with few rows.

#![cfg(unix)]

use std::process::Command;

#[test]
fn all_kinds_are_measured() {
    let mut index = Command::new(env!("CARGO_BIN_EXE_index"));
    let output = index.args(["--rows", "10"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let table = String::from_utf8(output.stdout).unwrap();
    let (_, kinds) = table.split_once("table_mb\n").unwrap();
    assert!(kinds.lines().count() > 3, "{table}");
    for line in kinds.lines() {
        assert_eq!(line.split(',').count(), 8, "{line}");
    }
}
