//! A panic, which the check of the images must see.
#![no_std]
#![no_main]

size::image! {
    state: (),
    fn probe(bytes: &[u8; 16], at: usize) -> u8 { bytes[at] }
    run: {}
}
