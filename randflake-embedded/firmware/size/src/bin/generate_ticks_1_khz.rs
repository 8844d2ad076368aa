//! The next id by a timer of 1 kHz.
#![no_std]
#![no_main]

size::ticks_image!(1_000);
