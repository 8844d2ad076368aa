//! The next id, with a table of round keys and a word in a critical section.
#![no_std]
#![no_main]

size::generate_image!(CriticalSectionWord, Sparx64);
