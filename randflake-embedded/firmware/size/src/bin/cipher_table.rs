//! One block, with a table of round keys.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::Sparx64;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(cipher: &Sparx64, block: u64) -> u64 {
    cipher.encrypt_u64(block)
}

size::image!(Sparx64, {
    let cipher = Sparx64::new(size::KEY_BYTES);
    black_box(probe(black_box(&cipher), black_box(7)));
});
