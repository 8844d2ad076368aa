//! The next id, with round keys made anew and a native atomic word.
#![no_std]
#![no_main]

size::generate_image!(AtomicU32, Sparx64OnTheFly);
