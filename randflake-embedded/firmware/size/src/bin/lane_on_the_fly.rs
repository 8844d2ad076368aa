//! The next id, with a lane of its own, and round keys made anew.
#![no_std]
#![no_main]

size::lane_image!(Sparx64OnTheFly, Sparx64OnTheFly::new(KEY_BYTES));
