//! The horizon in flash that writes 16 bytes at once.
#![no_std]
#![no_main]

size::horizon_image!(16);
