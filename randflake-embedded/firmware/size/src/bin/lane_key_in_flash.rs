//! The next id, with a lane of its own, and round keys made anew from a key in flash.
#![no_std]
#![no_main]

size::lane_image!(&'static Sparx64OnTheFly, &KEY);
