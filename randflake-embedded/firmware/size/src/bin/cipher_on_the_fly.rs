//! One block, whose round keys are made anew.
#![no_std]
#![no_main]

size::cipher_image!(Sparx64OnTheFly);
