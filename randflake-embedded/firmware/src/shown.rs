//! A clock that the tests set.

use core::sync::atomic::{AtomicU16, Ordering};
use core::time::Duration;

use randflake_embedded::randflake_core::{Clock, Layout, Monotonic, Randflake};

pub const EPOCH: Duration = Duration::from_millis(Randflake::SPEC.epoch_unix_ms());

/// Seconds since then, of a width that every machine loads at once.
static SECONDS: AtomicU16 = AtomicU16::new(0);

#[derive(Clone, Copy)]
pub struct Shown;

impl Shown {
    pub fn set(seconds: u16) {
        SECONDS.store(seconds, Ordering::Relaxed);
    }

    /// Not to be called by code that another caller of this interrupts.
    pub fn advance() {
        Self::set(SECONDS.load(Ordering::Relaxed) + 1);
    }
}

impl Clock for Shown {
    fn now(&self) -> Option<Duration> {
        Some(EPOCH + self.uptime())
    }
}

/// As if the machine had been started then.
impl Monotonic for Shown {
    fn uptime(&self) -> Duration {
        // In the midst of a second, so that an offset of half a setting and half another leads to a
        // wrong one.
        Duration::new(SECONDS.load(Ordering::Relaxed).into(), 500_000_000)
    }
}
