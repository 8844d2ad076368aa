//! The next id by a timer of 64 MHz.
#![no_std]
#![no_main]

size::ticks_image!(64_000_000);
