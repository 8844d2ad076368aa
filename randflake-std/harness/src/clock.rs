//! A wall clock of one's own for a process, by libfaketime.

use core::sync::atomic::{AtomicI64, Ordering};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program;

/// Variable with the path of libfaketime.
const LIBFAKETIME: &str = "RANDFLAKE_LIBFAKETIME";

/// How far off the wall clocks of some processes are.
pub struct WallClock {
    file: PathBuf,
    offset_ms: AtomicI64,
}

impl WallClock {
    /// The right time, until it is set; kept in a file of this folder.
    pub fn new(folder: &Path) -> Self {
        let clock = Self {
            file: folder.join("wall-clock"),
            offset_ms: AtomicI64::new(0),
        };
        clock.step_ms(0);
        clock
    }

    /// Lets a process that is not started yet go by this clock.
    pub fn give_to(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", program(LIBFAKETIME))
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
    }

    /// Sets it ahead or back.
    pub fn step_ms(&self, ms: i64) {
        let offset_ms = self.offset_ms.fetch_add(ms, Ordering::Relaxed) + ms;
        // A reader must never see half a file.
        let new = self.file.with_extension("new");
        let sign = if offset_ms < 0 { '-' } else { '+' };
        let (seconds, ms) = (
            offset_ms.unsigned_abs() / 1_000,
            offset_ms.unsigned_abs() % 1_000,
        );
        fs::write(&new, format!("{sign}{seconds}.{ms:03}s\n")).unwrap();
        fs::rename(new, &self.file).unwrap();
    }
}
