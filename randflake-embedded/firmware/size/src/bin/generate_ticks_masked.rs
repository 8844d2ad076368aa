//! The next id by a timer of 32,768 Hz: a power of two.
#![no_std]
#![no_main]

size::ticks_image!(32_768);
