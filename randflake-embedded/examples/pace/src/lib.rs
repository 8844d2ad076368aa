//! Pauses between attempts after the flash has refused a block.
//!
//! Each try may cost three erases: a device that tries at once, again and again, has worn out good
//! flash within an hour. So the pause doubles, from a second to a quarter of an hour, and after
//! [`Pace::MOST`] failures in a row there is no further try before the next boot.
#![no_std]

use core::time::Duration;

/// Failures in a row, and when the next try is due, by the time since boot.
#[derive(Debug, Default)]
pub struct Pace {
    failures: u32,
    due: Duration,
}

impl Pace {
    /// So many failures in a row are the last ones.
    pub const MOST: u32 = 16;
    const LONGEST_S: u64 = 900;

    pub const fn new() -> Self {
        Self {
            failures: 0,
            due: Duration::ZERO,
        }
    }

    /// Whether the flash may be tried now.
    pub fn is_due(&self, uptime: Duration) -> bool {
        !self.is_over() && uptime >= self.due
    }

    /// Whether it has failed too often: the device should say so.
    pub fn is_over(&self) -> bool {
        self.failures >= Self::MOST
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    pub fn failed(&mut self, uptime: Duration) {
        let pause_s = (1 << self.failures.min(10)).min(Self::LONGEST_S);
        self.failures = self.failures.saturating_add(1);
        self.due = uptime + Duration::from_secs(pause_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_tries_end() {
        let mut pace = Pace::new();
        let mut uptime = Duration::ZERO;
        let mut pauses = [0; Pace::MOST as usize];
        for pause in &mut pauses {
            assert!(pace.is_due(uptime) && !pace.is_over());
            pace.failed(uptime);
            *pause = (pace.due - uptime).as_secs();
            assert!(!pace.is_due(pace.due - Duration::from_nanos(1)));
            uptime = pace.due;
        }
        assert_eq!(pauses[..11], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900]);
        assert!(pace.is_over() && !pace.is_due(Duration::MAX));
    }

    #[test]
    fn a_success_begins_anew() {
        let mut pace = Pace::new();
        for _ in 1..Pace::MOST {
            pace.failed(Duration::ZERO);
        }
        pace.succeeded();
        pace.failed(Duration::from_secs(5));
        assert!(pace.is_due(Duration::from_secs(6)) && !pace.is_over());
    }
}
