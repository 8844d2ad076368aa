//! Other systems: the clocks of the standard library.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

pub(super) fn wall_coarse() -> Option<Duration> {
    super::wall_exact()
}

pub(super) fn monotonic_coarse_ns() -> u64 {
    monotonic_exact_ns()
}

pub(super) fn monotonic_exact_ns() -> u64 {
    // An `Instant` does not show its number, only differences: these are from the first reading.
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
