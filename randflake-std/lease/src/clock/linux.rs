//! Linux: the kernel's coarse clocks cost a load, the exact ones a reading of the time stamp counter.

use core::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Unix time by the coarse wall clock; `None` before 1970.
#[inline]
pub(super) fn wall_coarse() -> Option<Duration> {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::RealtimeCoarse);
    let nanos = u32::try_from(tv_nsec).ok()?;
    Some(Duration::new(u64::try_from(tv_sec).ok()?, nanos))
}

#[inline]
pub(super) fn monotonic_coarse_ns() -> u64 {
    monotonic_ns(ClockId::MonotonicCoarse)
}

#[inline]
pub(super) fn monotonic_exact_ns() -> u64 {
    monotonic_ns(ClockId::Monotonic)
}

/// Counts from the machine's start, so it is never negative and fits for 584 years.
#[inline]
fn monotonic_ns(id: ClockId) -> u64 {
    // Wrapping: what cannot overflow is not checked, since this is in the path of each id.
    let Timespec { tv_sec, tv_nsec } = clock_gettime(id);
    tv_sec
        .cast_unsigned()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(tv_nsec.cast_unsigned())
}
