//! The alarm of each layout's last date, under wall clocks around 180 days before it.

use core::time::Duration;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::program;
use randflake_std::randflake_core::LAYOUTS;

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
