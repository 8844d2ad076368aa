//! The next id, with round keys made anew and a word in a critical section.
#![no_std]
#![no_main]

size::generate_image!(CriticalSectionWord, Sparx64OnTheFly);
