//! Counts what passed and failed.

use core::fmt::Display;

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
