//! Runs all tests on the machine, and says what came out as `cargo test` does.
#![no_std]
#![no_main]

mod board;
mod clocks;
mod preemption;
// QEMU 7.2 hangs when `virt` is reset under `-icount`.
#[cfg(target_arch = "arm")]
mod resets;
mod shown;
mod suite;
mod sweep;
mod timer;
mod vectors;

use suite::Suite;

/// Called by the board's `main`, which may have checked something before.
fn run(mut suite: Suite) -> ! {
    clocks::run(&mut suite);
    vectors::run(&mut suite);
    timer::run(&mut suite);
    preemption::run(&mut suite);
    suite.finish()
}
