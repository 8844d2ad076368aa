//! Times that a driver or an interrupt writes.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use randflake_embedded::randflake_core::Clock;

/// Second 1,000 of the layout's epoch.
pub const START_UNIX_S: u64 = 1_730_001_000;

#[unsafe(no_mangle)]
static UNIX_S: AtomicU32 = AtomicU32::new(0);

/// The cheapest clock there is, so that as little as can be of what is measured is the clock: seconds in RAM.
#[derive(Clone, Copy)]
pub struct Shown;

impl Shown {
    pub fn set(self) {
        UNIX_S.store(START_UNIX_S as u32, Ordering::Relaxed);
    }

    /// Advances the time by a second.
    pub fn advance(self) {
        UNIX_S.store(UNIX_S.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Clock for Shown {
    #[inline]
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_secs(UNIX_S.load(Ordering::Relaxed).into()))
    }
}

#[unsafe(no_mangle)]
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A timer: one load, as from a register.
pub struct Counter<const HZ: u32>;

impl<const HZ: u32> Counter<HZ> {
    #[inline]
    pub fn read() -> u32 {
        COUNT.load(Ordering::Relaxed)
    }

    /// Advances the time by a second.
    pub fn advance() {
        COUNT.store(Self::read().wrapping_add(HZ), Ordering::Relaxed);
    }
}
