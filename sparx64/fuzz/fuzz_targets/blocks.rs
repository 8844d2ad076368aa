//! A key and blocks: every backend agrees with single blocks, those with the crate `sparx`, and
//! decryption undoes encryption.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparx64::{Backend, Sparx64};

fuzz_target!(|input: ([u8; 16], Vec<[u8; 8]>)| {
    let (key, blocks) = input;
    let cipher = Sparx64::new(&key);
    let expected: Vec<_> = blocks.iter().map(|block| peer(&key, *block)).collect();
    for backend in Backend::available() {
        let mut slice = blocks.clone();
        cipher.encrypt_blocks_with(backend, &mut slice);
        assert_eq!(slice, expected, "{backend}");
        cipher.decrypt_blocks_with(backend, &mut slice);
        assert_eq!(slice, blocks, "{backend}");
    }
    for (block, expected) in blocks.iter().zip(expected) {
        let mut single = *block;
        cipher.encrypt_block(&mut single);
        assert_eq!(single, expected);
        cipher.decrypt_block(&mut single);
        assert_eq!(single, *block);
    }
});

/// The crate `sparx` reads words in little-endian order; SPARX-64 as published, and ours, in
/// big-endian order.
fn peer(key: &[u8; 16], block: [u8; 8]) -> [u8; 8] {
    use sparx::sparx64::{encrypt_block, key_schedule_encrypt};
    let mut block = swap_bytes(block);
    encrypt_block(&mut block, &key_schedule_encrypt(&swap_bytes(*key)));
    swap_bytes(block)
}

fn swap_bytes<const N: usize>(mut words: [u8; N]) -> [u8; N] {
    for word in words.chunks_exact_mut(2) {
        word.swap(0, 1);
    }
    words
}
