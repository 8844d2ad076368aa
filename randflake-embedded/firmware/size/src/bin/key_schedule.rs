//! The table of round keys.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::Sparx64;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(key: &[u8; 16]) -> Sparx64 {
    Sparx64::new(key)
}

size::image!((), {
    black_box(probe(black_box(size::KEY_BYTES)));
});
