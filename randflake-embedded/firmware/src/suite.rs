//! What tests share: a count of those that passed and failed, and a clock that they set.

use core::fmt::Display;
use core::sync::atomic::{AtomicU16, Ordering};
use core::time::Duration;

use randflake_embedded::randflake_core::{Clock, Layout, Monotonic, Randflake};

use crate::board::{exit, println};

#[derive(Default)]
pub struct Suite {
    passed: usize,
    failed: usize,
}

impl Suite {
    pub fn check(&mut self, name: &str, outcome: Result<impl Display, impl Display>) {
        match outcome {
            Ok(found) => {
                self.passed += 1;
                println!("{found}");
                println!("test {name} ... ok");
            }
            Err(reason) => {
                self.failed += 1;
                println!("{reason}\ntest {name} ... FAILED");
            }
        }
    }

    /// Reports the result and ends the emulation.
    pub fn finish(self) -> ! {
        let Self { passed, failed } = self;
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        println!("test result: {verdict}. {passed} passed; {failed} failed; 0 ignored");
        exit(failed > 0)
    }
}

/// A step of a test.
pub fn expect(holds: bool, what: &'static str) -> Result<&'static str, &'static str> {
    if holds { Ok(what) } else { Err(what) }
}

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
