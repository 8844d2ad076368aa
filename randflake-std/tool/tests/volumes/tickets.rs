//! The counters of devices' tickets, over power cuts.

use std::process::Command;

use harness::disk::Disk;
use tempfile::TempDir;

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
