//! The tests that an 8-bit machine has room for: an ATmega1284P, as simavr emulates it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod board;
#[path = "../../src/preemption.rs"]
mod preemption;
#[path = "../../src/suite.rs"]
mod suite;
#[path = "../../src/sweep.rs"]
mod sweep;
#[path = "../../src/timer.rs"]
mod timer;
mod vectors;

use suite::Suite;

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let mut suite = Suite::default();
    vectors::run(&mut suite);
    timer::run(&mut suite);
    preemption::run(&mut suite);
    suite.finish()
}
