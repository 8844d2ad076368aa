//! Runs all tests on the machine, and says what came out as `cargo test` does.
#![no_std]
#![no_main]

mod board;
mod preemption;
mod suite;
mod vectors;

use suite::Suite;

/// Called by the board's `main`.
fn run() -> ! {
    let mut suite = Suite::default();
    vectors::run(&mut suite);
    preemption::run(&mut suite);
    suite.finish()
}
