//! The tool under wall clocks that are far off: at the ends of layouts, around midnight, before the
//! last dates.

use core::time::Duration;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::clock::WallClock;
use harness::program;
use randflake_std::randflake_core::{LAYOUTS, LayoutSpec};
use serde_json::Value;

use crate::aged_store;

/// Where the clocks of leases end, though the layout may go on.
const YEAR_2500: Duration = Duration::from_secs(16_725_225_600);

/// The tool, with a home of its own and a wall clock that shows some time when it starts.
struct Tool {
    library: PathBuf,
    home: tempfile::TempDir,
}

impl Tool {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        // One that is made within a last tick grants nothing before the next.
        aged_store::in_state(home.path());
        Self {
            library: program("RANDFLAKE_LIBFAKETIME"),
            home,
        }
    }

    fn run_at(&self, offset_from_1970_s: f64, arguments: &[&str]) -> Output {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let offset = offset_from_1970_s - now.as_secs_f64();
        let state: &Path = self.home.path();
        Command::new(env!("CARGO_BIN_EXE_randflake"))
            .args(arguments)
            .env("XDG_STATE_HOME", state)
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_STORE")
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME", format!("{offset:+.3}"))
            .env("DONT_FAKE_MONOTONIC", "1")
            .output()
            .unwrap()
    }

    /// Fails without an id or a lease, and returns why.
    fn is_refused(&self, at_s: f64, arguments: &[&str]) -> String {
        let told = self.run_at(at_s, arguments);
        let said = String::from_utf8(told.stderr).unwrap();
        assert!(!told.status.success(), "{at_s} {arguments:?}");
        assert!(told.stdout.is_empty(), "{at_s} {arguments:?}");
        assert!(!said.contains("panicked"), "{said}");
        said
    }

    /// The times of some ids, in Unix milliseconds; or why there are none.
    fn times_of_ids(&self, at_s: f64, name: &str, count: &str) -> Result<Vec<u64>, String> {
        let generate = [
            "generate", "--layout", name, "--format", "json", "-n", count,
        ];
        let told = self.run_at(at_s, &generate);
        let [ids, said] = [told.stdout, told.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(!said.contains("panicked"), "{said}");
        let times: Vec<_> = ids
            .lines()
            .map(|id| {
                let id: Value = serde_json::from_str(id).unwrap();
                id["unix_ms"].as_u64().unwrap()
            })
            .collect();
        if times.is_empty() {
            Err(said)
        } else {
            Ok(times)
        }
    }
}

const ACQUIRE: [&str; 4] = ["lease", "acquire", "--json", "--layout"];

#[test]
fn wall_clocks_before_each_epoch() {
    for (name, spec) in LAYOUTS {
        let tool = Tool::new();
        let epoch_s = Duration::from_millis(spec.epoch_unix_ms()).as_secs_f64();
        let generate = tool.is_refused(epoch_s - 5.0, &["generate", "--layout", name]);
        let acquire = tool.is_refused(epoch_s - 5.0, &[&ACQUIRE[..], &[name]].concat());
        // Before 1970 there is no time to tell.
        if spec.epoch_unix_ms() == 0 {
            assert!(
                generate.contains("its clock does not know the time"),
                "{generate}"
            );
            continue;
        }
        assert!(
            generate.contains("ids of this layout have times from ")
                && generate
                    .contains("correct this machine's clock, or take an epoch that has passed"),
            "{generate}"
        );
        assert!(acquire.contains("epoch"), "{acquire}");
        let times = tool.times_of_ids(epoch_s + 1.0, name, "3").unwrap();
        let first = spec.epoch_unix_ms();
        assert!(
            times
                .iter()
                .all(|time| (first..first + 600_000).contains(time))
        );
    }
}

#[test]
fn wall_clocks_at_each_last_date() {
    for (name, spec) in LAYOUTS {
        let tool = Tool::new();
        let end = Duration::from_millis(spec.end_unix_ms());
        let last_second = end.as_secs_f64() - 0.9;
        if end > YEAR_2500 {
            let said = tool.times_of_ids(last_second, name, "1").unwrap_err();
            assert!(
                said.contains("times before 2500-01-01T00:00:00Z are allowed"),
                "{said}"
            );
            let last = YEAR_2500.as_secs_f64() - 90.0;
            // Another store: this one's clock would have gone back.
            let times = Tool::new().times_of_ids(last, name, "3").unwrap();
            are_within(&times, last, spec);
        } else {
            // The machine may be too slow for the last second, but not for both.
            let at = end.as_secs_f64() - 30.0;
            let times = tool.times_of_ids(at, name, "3").unwrap();
            are_within(&times, at, spec);
            match tool.times_of_ids(last_second, name, "3") {
                Ok(times) => are_within(&times, last_second, spec),
                // The tool looks at the clock first, and then the store does.
                Err(said) if said.contains("the layout's last time is ") => {}
                Err(said) => is_over(&said),
            }
        }
        is_over(
            &tool
                .times_of_ids(end.as_secs_f64() + 0.1, name, "3")
                .unwrap_err(),
        );
        let said = tool.is_refused(end.as_secs_f64() + 0.1, &[&ACQUIRE[..], &[name]].concat());
        assert!(
            said.contains("the layout's last time is ") || said.contains("are allowed"),
            "{said}"
        );
    }
}

/// The last tick begins long before it ends.
#[test]
fn wall_clocks_within_a_last_tick() {
    let tool = Tool::new();
    let (name, end_s) = ("custom:8,30,25@1730000000000/100000", 1_730_025_600.0);
    let times = tool.times_of_ids(end_s - 50.0, name, "3").unwrap();
    assert_eq!(times, [1_730_025_500_000; 3]);
    is_over(&tool.times_of_ids(end_s, name, "3").unwrap_err());
}

/// A process that issues over the end of its layout stops there.
#[test]
fn wall_clocks_that_pass_a_last_date() {
    // Of others there are a million ids in a second, or none at their end.
    let layouts = LAYOUTS.iter().filter(|(_, spec)| spec.tick_ms() > 1);
    thread::scope(|scope| {
        for (name, spec) in layouts {
            scope.spawn(|| passes_its_last_date(name, *spec));
        }
    });
}

fn passes_its_last_date(name: &str, spec: LayoutSpec) {
    let tool = Tool::new();
    let begun = Duration::from_millis(spec.end_unix_ms()).as_secs_f64() - 1.5;
    let generate = [
        "generate", "--layout", name, "--format", "json", "-n", "10000000",
    ];
    let told = tool.run_at(begun, &generate);
    assert!(!told.status.success(), "{name}");
    let [ids, said] = [told.stdout, told.stderr].map(|text| String::from_utf8(text).unwrap());
    let last: Value = serde_json::from_str(ids.lines().next_back().unwrap()).unwrap();
    are_within(&[last["unix_ms"].as_u64().unwrap()], begun, spec);
    is_over(&said);
}

fn are_within(times: &[u64], since_s: f64, spec: LayoutSpec) {
    let first = Duration::from_secs_f64(since_s - 1.0).as_millis();
    let all = first..spec.end_unix_ms().into();
    for time in times {
        assert!(all.contains(&u128::from(*time)), "{time}: {all:?}");
    }
}

fn is_over(said: &str) {
    assert!(
        said.contains("ids of this layout have times from ")
            && said.contains("make new ones with another epoch")
            && said.contains("or in another layout"),
        "{said}"
    );
    // The example is one that can be typed.
    if let Some((_, example)) = said.split_once("such as --layout ") {
        let (_, year) = example.split_once('@').unwrap();
        assert!(year.get(..4).unwrap().parse::<u16>().is_ok(), "{said}");
    }
}

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
            let line = told
                .lines()
                .find(|line| line.contains(" last date "))
                .unwrap_or_else(|| panic!("{name}: {told}"));
            assert!(line.starts_with(verdict), "{name}, {verdict}: {line}");
        }
    }
}
