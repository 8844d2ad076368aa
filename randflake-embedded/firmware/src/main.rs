//! Runs all tests on the machine and prints the results as `cargo test` does.
#![no_std]
#![no_main]

mod board;
mod clocks;
mod preemption;
mod resets;
mod suite;
mod sweep;
mod tickets;
mod timer;
mod vectors;

use suite::Suite;

/// Called by the board's `main`.
fn run() -> ! {
    let mut suite = Suite::default();
    // First: all begins anew with each, and the timer must not run then.
    resets::run(&mut suite, board::reset);
    clocks::run(&mut suite);
    tickets::run(&mut suite);
    vectors::run(&mut suite);
    timer::run(&mut suite);
    preemption::run(&mut suite);
    suite.finish()
}
