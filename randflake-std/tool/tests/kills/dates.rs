//! Counters that begin anew each day, killed around midnight and at the last dates.

use core::time::Duration;
use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use harness::clock::WallClock;
use harness::program;
use randflake_std::randflake_core::LAYOUTS;

use crate::aged_store;

const DAY_MS: i64 = 86_400_000;
/// 2030-06-15T12:00:00Z
const NOON_MS: i64 = 1_907_755_200_000;

#[test]
fn a_clock_a_day_ahead_repeats_no_order_number() {
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

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// When `doctor` begins to warn.
const AHEAD: Duration = Duration::from_secs(180 * DAY.as_secs());

#[test]
fn wall_clocks_180_days_before_each_last_date() {
    let library = program("RANDFLAKE_LIBFAKETIME");
    let home = tempfile::tempdir().unwrap();
    for (name, spec) in LAYOUTS {
        let over_at = Duration::from_millis(spec.end_unix_ms());
        for (at, verdict) in [
            (over_at.saturating_sub(AHEAD + DAY), "ok"),
            (over_at.saturating_sub(AHEAD.saturating_sub(DAY)), "caution"),
            (over_at + DAY, "problem"),
        ] {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            let offset = at.as_secs_f64() - now.as_secs_f64();
            let told = Command::new(env!("CARGO_BIN_EXE_randflake"))
                .args(["doctor", "--layout", name])
                .env("XDG_STATE_HOME", home.path())
                .env_remove("RANDFLAKE_KEY")
                .env_remove("RANDFLAKE_STORE")
                .env("LD_PRELOAD", &library)
                .env("FAKETIME", format!("{offset:+.0}"))
                .env("DONT_FAKE_MONOTONIC", "1")
                .output()
                .unwrap();
            let told = String::from_utf8(told.stdout).unwrap();
            let line = told.lines().find(|line| line.contains(" last date "));
            let line = line.unwrap_or_else(|| panic!("{name}: {told}"));
            assert!(line.starts_with(verdict), "{name}, {verdict}: {line}");
        }
    }
}
