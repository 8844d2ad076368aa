//! The next id, with a lane of its own, and a table of round keys.
#![no_std]
#![no_main]

size::lane_image!(Sparx64, Sparx64::new(KEY_BYTES));
