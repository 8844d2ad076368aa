//! Waiting, blocking and not: as long as it helps, and no longer than allowed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::AtomicU32;
use core::task::{Context, Poll, Waker};

use randflake_core::{
    GenerateError, Generator, Id, Layout, Lease, ManualClock, Randflake, Sparx64,
};
use randflake_embedded::{wait, wait_async};

/// Lets the clock run, or not.
struct Delay<'a> {
    clock: &'a ManualClock,
    runs: bool,
    total_ms: u64,
}

impl Delay<'_> {
    fn pass(&mut self, ns: u32) {
        let ms = u64::from(ns.div_ceil(1_000_000));
        self.total_ms += ms;
        if self.runs {
            self.clock.advance_ms(ms);
        }
    }
}

impl embedded_hal::delay::DelayNs for Delay<'_> {
    fn delay_ns(&mut self, ns: u32) {
        self.pass(ns);
    }
}

impl embedded_hal_async::delay::DelayNs for Delay<'_> {
    async fn delay_ns(&mut self, ns: u32) {
        self.pass(ns);
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the delay is always ready"),
    }
}

/// Both ways at a time before or after the lease's start, and how long they waited.
fn both(ms: i64, limit_ms: u32, runs: bool) -> (Result<Id, GenerateError>, u64) {
    let answers = [false, true].map(|is_async| {
        let start = Randflake::SPEC.unix_ms(100);
        let clock = ManualClock::at_unix_ms(start.checked_add_signed(ms).unwrap());
        let lease = Lease::new(Randflake, 1, 100, 160).unwrap();
        let key = Sparx64::new(&[7; 16]);
        let generator = Generator::<Randflake, AtomicU32, _>::new(lease, &clock, key).unwrap();
        let mut delay = Delay {
            clock: &clock,
            runs,
            total_ms: 0,
        };
        let generate = || generator.generate();
        let answer = if is_async {
            ready(wait_async(&mut delay, limit_ms, generate))
        } else {
            wait(&mut delay, limit_ms, generate)
        };
        (answer, delay.total_ms)
    });
    assert_eq!(answers[0], answers[1]);
    answers[0]
}

#[test]
fn it_waits_as_long_as_the_error_says() {
    let (answer, waited_ms) = both(0, 0, true);
    assert!(answer.is_ok() && waited_ms == 0);
    let (answer, waited_ms) = both(-250, 250, true);
    assert!(answer.is_ok() && waited_ms == 250);
}

#[test]
fn it_does_not_wait_for_what_takes_longer() {
    let behind = Err(GenerateError::ClockBehind { behind_ms: 250 });
    assert_eq!(both(-250, 249, true), (behind, 0));
}

#[test]
fn it_does_not_wait_in_vain() {
    let over = Err(GenerateError::LeaseOver { since_ms: 0 });
    assert_eq!(both(60_000, 10_000, true), (over, 0));
}

#[test]
fn a_clock_that_stands_still_ends_it() {
    let (answer, waited_ms) = both(-250, 1_000, false);
    assert_eq!(answer, Err(GenerateError::ClockBehind { behind_ms: 250 }));
    assert_eq!(waited_ms, 1_000);
}
