//! What every image has.
#![no_std]
#![no_main]

size::image!((), {});
