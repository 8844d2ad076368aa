//! Order numbers that begin anew each day, in a file under a wall clock that was a day ahead: the clock of a file is its
//! process' own.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use harness::clock::WallClock;

use crate::aged_store;

const DAY_MS: i64 = 86_400_000;
/// 2030-06-15T12:00:00Z
const NOON_MS: i64 = 1_907_755_200_000;

#[test]
fn a_clock_that_was_a_day_ahead_repeats_no_order_number() {
    let home = tempfile::tempdir().unwrap();
    aged_store::in_state(home.path());
    let clock = WallClock::new(home.path());
    let segment = |arguments: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .arg("segment")
            .args(arguments)
            .env("XDG_STATE_HOME", home.path())
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_STORE");
        clock.give_to(&mut command);
        command.output().unwrap()
    };
    let printed = |arguments: &[&str]| {
        let answer = segment(arguments);
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    };
    let refused = || {
        let answer = segment(&["-n", "3"]);
        assert!(!answer.status.success(), "{answer:?}");
        assert!(answer.stdout.is_empty(), "{answer:?}");
        String::from_utf8(answer.stderr).unwrap()
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    clock.step_ms(NOON_MS - i64::try_from(now.as_millis()).unwrap());

    printed(&["init", "--no-wait", "--daily"]);
    let mut issued = printed(&["-n", "3"]);
    assert!(issued.starts_with("20300615-000001\n"), "{issued}");
    clock.step_ms(DAY_MS);
    let ahead = printed(&["-n", "3"]);
    assert!(ahead.starts_with("20300616-000001\n"), "{ahead}");
    issued += &ahead;

    // It is set right, and then a month too early.
    for (back, shown) in [(DAY_MS, "2030-06-15T12:"), (30 * DAY_MS, "2030-05-16T12:")] {
        clock.step_ms(-back);
        let said = refused();
        for part in [
            "numbers of 20300616 were reserved while the store's clock was ahead",
            &format!("it shows {shown}"),
            "until 2030-06-16T00:00:00Z (in ",
            "go on at 20300616-000004",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let status = printed(&["status"]);
        assert!(status.contains("20300616-000004"), "{status}");
    }
    clock.step_ms(31 * DAY_MS);
    for first in ["20300616-000004\n", "20300617-000001\n"] {
        let printed = printed(&["-n", "3"]);
        assert!(printed.starts_with(first), "{printed}");
        issued += &printed;
        clock.step_ms(DAY_MS);
    }
    let distinct: BTreeSet<_> = issued.lines().collect();
    assert_eq!(
        (distinct.len(), issued.lines().count()),
        (12, 12),
        "{issued}"
    );
    assert!(issued.lines().is_sorted(), "{issued}");
}
