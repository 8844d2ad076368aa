//! The horizon in flash that writes 8 bytes at once.
#![no_std]
#![no_main]

size::horizon_image!(8);
