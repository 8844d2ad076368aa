//! One block, with a table of round keys.
#![no_std]
#![no_main]

size::cipher_image!(Sparx64);
