//! A clock that shows what it is told.

use core::sync::atomic::{AtomicU16, Ordering};
use core::time::Duration;

use randflake_embedded::randflake_core::{Clock, Layout, Randflake};

/// Seconds since the layout's epoch, of a width that every machine loads at once.
static SECONDS: AtomicU16 = AtomicU16::new(0);

#[derive(Clone, Copy)]
pub struct Shown;

impl Shown {
    pub fn set(seconds: u16) {
        SECONDS.store(seconds, Ordering::Relaxed);
    }

    /// For who cannot be interrupted by another who does the same.
    pub fn advance() {
        Self::set(SECONDS.load(Ordering::Relaxed) + 1);
    }
}

impl Clock for Shown {
    fn now(&self) -> Option<Duration> {
        let epoch = Duration::from_millis(Randflake::SPEC.epoch_unix_ms());
        Some(epoch + Duration::from_secs(SECONDS.load(Ordering::Relaxed).into()))
    }
}
