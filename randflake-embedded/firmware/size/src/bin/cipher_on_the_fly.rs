//! One block, whose round keys are made anew.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::Sparx64OnTheFly;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(cipher: &Sparx64OnTheFly, block: u64) -> u64 {
    cipher.encrypt_u64(block)
}

size::image!(Sparx64OnTheFly, {
    let cipher = Sparx64OnTheFly::new(size::KEY_BYTES);
    black_box(probe(black_box(&cipher), black_box(7)));
});
