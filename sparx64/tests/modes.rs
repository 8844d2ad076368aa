//! The RustCrypto traits, through RustCrypto's modes.

use cipher::{
    AlgorithmName, Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt,
    BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher,
};
use cmac::{Cmac, Mac};
use sparx64::{Sparx64, Sparx64OnTheFly};

const KEY: [u8; 16] = *b"sixteen byte key";
const IV: [u8; 8] = *b"01234567";

/// Blocks of a message: more than the modes hand over at once.
const BLOCKS: usize = if cfg!(miri) { 66 } else { 200 };

fn message() -> Vec<Block<Sparx64>> {
    (0..BLOCKS as u64).map(|i| i.to_be_bytes().into()).collect()
}

#[test]
fn blocks_match_the_inherent_methods() {
    let cipher = <Sparx64 as KeyInit>::new(&KEY.into());
    let mut blocks = message();
    BlockCipherEncrypt::encrypt_blocks(&cipher, &mut blocks);
    for (block, plaintext) in blocks.iter().zip(message()) {
        let mut expected = plaintext.0;
        cipher.encrypt_block(&mut expected);
        assert_eq!(block.0, expected);
    }
    BlockCipherDecrypt::decrypt_blocks(&cipher, &mut blocks);
    assert_eq!(blocks, message());
}

#[test]
fn buffer_to_buffer_leaves_the_input_alone() {
    let cipher = Sparx64::new(&KEY);
    let (input, mut output) = (message(), message());
    cipher.encrypt_blocks_b2b(&input, &mut output).unwrap();
    assert_eq!(input, message());
    let mut expected = message();
    BlockCipherEncrypt::encrypt_blocks(&cipher, &mut expected);
    assert_eq!(output, expected);
}

#[test]
fn cbc() {
    let cipher = Sparx64::new(&KEY);
    let mut blocks = message();
    cbc::Encryptor::<Sparx64>::new(&KEY.into(), &IV.into()).encrypt_blocks(&mut blocks);
    let mut previous = u64::from_le_bytes(IV);
    for (block, plaintext) in blocks.iter().zip(message()) {
        previous = cipher.encrypt_u64(previous ^ u64::from_le_bytes(plaintext.0));
        assert_eq!(block.0, previous.to_le_bytes());
    }
    let mut copy = blocks.clone();
    cbc::Decryptor::<Sparx64>::new(&KEY.into(), &IV.into()).decrypt_blocks(&mut blocks);
    assert_eq!(blocks, message());
    cbc::Decryptor::<Sparx64OnTheFly>::new(&KEY.into(), &IV.into()).decrypt_blocks(&mut copy);
    assert_eq!(copy, message());
}

#[test]
fn ctr() {
    let cipher = Sparx64::new(&KEY);
    // The last block of the key stream is cut.
    let mut stream = [0; BLOCKS * 8 + 3];
    ctr::Ctr64BE::<Sparx64>::new(&KEY.into(), &IV.into()).apply_keystream(&mut stream);
    for (i, chunk) in (0..).zip(stream.chunks(8)) {
        let mut block = u64::from_be_bytes(IV).wrapping_add(i).to_be_bytes();
        cipher.encrypt_block(&mut block);
        assert_eq!(chunk, &block[..chunk.len()]);
    }
}

#[test]
fn cmac() {
    // One whole block: CMAC is E(block ^ K1) with K1 = 2 * E(0), the constant 0x1b (SP 800-38B).
    let cipher = Sparx64::new(&KEY);
    let mut zero = [0; 8];
    cipher.encrypt_block(&mut zero);
    let doubled = u64::from_be_bytes(zero);
    let subkey = doubled << 1 ^ if doubled >> 63 == 1 { 0x1b } else { 0 };
    let mut expected = (u64::from_be_bytes(IV) ^ subkey).to_be_bytes();
    cipher.encrypt_block(&mut expected);

    let tag = <Cmac<Sparx64> as KeyInit>::new(&KEY.into())
        .chain_update(IV)
        .finalize()
        .into_bytes();
    assert_eq!(tag, Array(expected));

    let on_the_fly = <Cmac<Sparx64OnTheFly> as KeyInit>::new(&KEY.into())
        .chain_update(IV)
        .finalize()
        .into_bytes();
    assert_eq!(on_the_fly, tag);
}

#[test]
fn wrong_key_length_is_an_error() {
    assert!(Sparx64::new_from_slice(&KEY[..15]).is_err());
    assert!(Sparx64::new_from_slice(&KEY).is_ok());
}

#[test]
fn is_named() {
    struct Named;
    impl core::fmt::Display for Named {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            Sparx64::write_alg_name(f)
        }
    }
    assert_eq!(Named.to_string(), "Sparx64");
}
