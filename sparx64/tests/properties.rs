//! Properties of every key and block.

use proptest::prelude::*;
use sparx64::{Sparx64, Sparx64OnTheFly};

/// Blocks under which an avalanche is counted.
const SAMPLES: u32 = 512;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 2_000 },
        // Miri's isolation forbids the file in which failures are kept.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn decrypt_inverts_encrypt(key: [u8; 16], block: u64) {
        let cipher = Sparx64::new(&key);
        prop_assert_eq!(cipher.decrypt_u64(cipher.encrypt_u64(block)), block);
        prop_assert_eq!(cipher.encrypt_u64(cipher.decrypt_u64(block)), block);
    }

    #[test]
    fn on_the_fly_is_the_same_cipher(key: [u8; 16], block: u64, mut blocks: [u64; 3]) {
        let (table, on_the_fly) = (Sparx64::new(&key), Sparx64OnTheFly::new(&key));
        prop_assert_eq!(on_the_fly.encrypt_u64(block), table.encrypt_u64(block));
        prop_assert_eq!(on_the_fly.decrypt_u64(block), table.decrypt_u64(block));
        let expected = blocks;
        on_the_fly.encrypt_blocks(&mut blocks);
        prop_assert_eq!(blocks, expected.map(|block| table.encrypt_u64(block)));
        on_the_fly.decrypt_blocks(&mut blocks);
        prop_assert_eq!(blocks, expected);
    }

    #[test]
    fn number_is_the_block_in_little_endian_order(key: [u8; 16], block: [u8; 8]) {
        let cipher = Sparx64::new(&key);
        let (mut encrypted, mut decrypted) = (block, block);
        cipher.encrypt_block(&mut encrypted);
        cipher.decrypt_block(&mut decrypted);
        let number = u64::from_le_bytes(block);
        prop_assert_eq!(cipher.encrypt_u64(number), u64::from_le_bytes(encrypted));
        prop_assert_eq!(cipher.decrypt_u64(number), u64::from_le_bytes(decrypted));
    }

    /// The published crate reads words in little-endian order; ours are big-endian.
    #[test]
    fn agrees_with_the_crate_sparx(key: [u8; 16], block: [u8; 8]) {
        use sparx::sparx64 as other;
        let schedule = other::key_schedule_encrypt(&swap_bytes(key));
        let (mut encrypted, mut decrypted) = (swap_bytes(block), swap_bytes(block));
        other::encrypt_block(&mut encrypted, &schedule);
        other::decrypt_block(&mut decrypted, &schedule);

        let cipher = Sparx64::new(&key);
        let number = u64::from_le_bytes(block);
        prop_assert_eq!(cipher.encrypt_u64(number).to_le_bytes(), swap_bytes(encrypted));
        prop_assert_eq!(cipher.decrypt_u64(number).to_le_bytes(), swap_bytes(decrypted));
    }
}

fn swap_bytes<const N: usize>(mut words: [u8; N]) -> [u8; N] {
    for word in words.chunks_exact_mut(2) {
        word.swap(0, 1);
    }
    words
}

/// Counts how often each output bit flips over `SAMPLES` pairs, and asserts that every count is
/// what a fair coin gives: within 6 standard deviations, passed by chance once in 10^8 counts.
/// The inputs are fixed, so the outcome is too.
fn assert_avalanche(pairs: impl Iterator<Item = (u64, u64)>) {
    let mut flips = [0_u32; 64];
    let mut total = 0_u32;
    for (a, b) in pairs {
        let difference = a ^ b;
        for (bit, count) in flips.iter_mut().enumerate() {
            *count += u32::from(difference >> bit & 1 == 1);
        }
        total += 1;
    }
    let mean = f64::from(total) / 2.0;
    let bound = 6.0 * (f64::from(total) / 4.0).sqrt();
    for count in flips {
        assert!(
            (f64::from(count) - mean).abs() <= bound,
            "{count} of {total}"
        );
    }
}

/// Distinct numbers with all bits in play (the finaliser of `SplitMix64`).
fn scramble(index: u32) -> u64 {
    let mut z = u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[test]
#[cfg_attr(miri, ignore = "statistics of many blocks")]
fn each_block_bit_flips_each_output_bit_half_the_time() {
    let cipher = Sparx64::new(&[0x5a; 16]);
    for bit in 0..64 {
        let flipped = 1_u64 << bit;
        assert_avalanche((0..SAMPLES).map(scramble).map(|block| {
            (
                cipher.encrypt_u64(block),
                cipher.encrypt_u64(block ^ flipped),
            )
        }));
        assert_avalanche((0..SAMPLES).map(scramble).map(|block| {
            (
                cipher.decrypt_u64(block),
                cipher.decrypt_u64(block ^ flipped),
            )
        }));
    }
}

#[test]
#[cfg_attr(miri, ignore = "statistics of many blocks")]
fn each_key_bit_flips_each_output_bit_half_the_time() {
    for bit in 0..128 {
        assert_avalanche((0..SAMPLES).map(|index| {
            let key = u128::from(scramble(index)) << 64 | u128::from(scramble(!index));
            let flipped = key ^ 1 << bit;
            let encrypt = |key: u128| Sparx64::new(&key.to_le_bytes()).encrypt_u64(42);
            (encrypt(key), encrypt(flipped))
        }));
    }
}

#[test]
#[cfg_attr(miri, ignore = "statistics of many blocks")]
fn neighbouring_numbers_encrypt_to_unrelated_ones() {
    let cipher = Sparx64::new(&[0; 16]);
    assert_avalanche(
        (0..SAMPLES)
            .map(u64::from)
            .map(|block| (cipher.encrypt_u64(block), cipher.encrypt_u64(block + 1))),
    );
}
