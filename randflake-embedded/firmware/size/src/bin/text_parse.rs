//! An id out of its text.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::{Id, IdError};

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(text: &str) -> Result<Id, IdError> {
    text.parse()
}

size::image!((), {
    size::expect(probe(black_box("fvvvvvvvvvvvv")));
});
