//! The table of round keys.
#![no_std]
#![no_main]

size::image! {
    state: (),
    fn probe(key: &[u8; 16]) -> Sparx64 { Sparx64::new(key) }
    run: { black_box(probe(black_box(KEY_BYTES))); }
}
