//! An id's text, in a string of `heapless`.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::id_string;
use randflake_embedded::randflake_core::Id;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(id: Id) -> heapless::String<13> {
    id_string(id)
}

size::image!((), {
    black_box(probe(black_box(Id::from_u64(u64::MAX))));
});
