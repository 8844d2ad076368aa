//! The counters of devices' tickets, over power cuts.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::disk::Disk;

/// A ticket under a counter that was used is one that the device refuses.
#[test]
fn a_tickets_counter_outlives_a_power_cut() {
    let disk = Disk::new(16);
    // Elsewhere: what it syncs would take the counter along.
    let elsewhere = TempDir::new().unwrap();
    let store = format!("sqlite:{}/leases.db", elsewhere.path().display());
    for number in 1..=5 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .args(["lease", "ticket", "--device", "d0e5", "--store", &store])
            .env("XDG_STATE_HOME", disk.path())
            .env("RANDFLAKE_TICKET_KEY", "000102030405060708090a0b0c0d0e0f");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        disk.cut();
        disk.power_on();
        let counter = disk.path().join("randflake/tickets/000000000000d0e5");
        assert_eq!(fs::read_to_string(counter).unwrap(), format!("{number}\n"));
    }
}
