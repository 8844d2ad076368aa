//! A copy that the compiler leaves to its library, which the check of the images must see.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

size::image!((), {});
