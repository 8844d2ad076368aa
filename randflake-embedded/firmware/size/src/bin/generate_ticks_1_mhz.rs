//! The next id by a timer of 1 MHz.
#![no_std]
#![no_main]

size::ticks_image!(1_000_000);
