//! The next id, with a table of round keys and a native atomic word.
#![no_std]
#![no_main]

size::generate_image!(AtomicU32, Sparx64);
