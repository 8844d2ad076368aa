//! The horizon in flash that writes 32 bytes at once.
#![no_std]
#![no_main]

size::horizon_image!(32);
