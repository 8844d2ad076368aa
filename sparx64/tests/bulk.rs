//! Slices of blocks: every backend that this machine has gives what single calls give.

use core::ops::Range;

use proptest::prelude::*;
use sparx64::{Backend, Sparx64};

/// Beyond three of the widest backend's passes of 128 blocks, so that every mix of groups, single
/// vectors and a padded tail occurs. Under Miri, one of the widest vectors and a tail.
const LONGEST: usize = if cfg!(miri) { 33 } else { 400 };

fn blocks(length: usize) -> Vec<u64> {
    (1_u64..)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .take(length)
        .collect()
}

#[test]
fn every_length_agrees_with_single_blocks() {
    let cipher = Sparx64::new(b"sixteen byte key");
    let encrypted: Vec<_> = blocks(LONGEST)
        .into_iter()
        .map(|block| cipher.encrypt_u64(block))
        .collect();
    for backend in Backend::available() {
        for length in (0..=LONGEST).step_by(if cfg!(miri) { LONGEST } else { 1 }) {
            let mut slice = blocks(length);
            cipher.encrypt_blocks_with(backend, &mut slice);
            assert_eq!(slice, encrypted[..length], "{backend}, {length} blocks");
            cipher.decrypt_blocks_with(backend, &mut slice);
            assert_eq!(slice, blocks(length), "{backend}, {length} blocks");
        }
    }
}

#[test]
fn every_alignment_agrees_and_neighbours_stay() {
    const LENGTH: usize = 8 * LONGEST;
    const MARGIN: usize = 64;
    const OFFSETS: Range<usize> = if cfg!(miri) { 31..32 } else { 0..MARGIN };
    let cipher = Sparx64::new(b"sixteen byte key");
    let expected = cipher
        .encrypt_u64(u64::from_le_bytes([0xa5; 8]))
        .to_le_bytes();
    for backend in Backend::available() {
        for offset in OFFSETS {
            let mut memory = [0xa5_u8; LENGTH + MARGIN];
            let (before, rest) = memory.split_at_mut(offset);
            let (middle, after) = rest.split_at_mut(LENGTH);
            let (blocks, _) = middle.as_chunks_mut::<8>();
            cipher.encrypt_blocks_with(backend, blocks);
            assert!(
                blocks.iter().all(|block| *block == expected),
                "{backend}, offset {offset}"
            );
            cipher.decrypt_blocks_with(backend, blocks);
            for part in [before, middle, after] {
                assert!(
                    part.iter().all(|&byte| byte == 0xa5),
                    "{backend}, offset {offset}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    #[cfg_attr(miri, ignore = "the other tests reach the same code")]
    fn numbers_bytes_and_backends_agree(
        key: [u8; 16],
        blocks in prop::collection::vec(any::<u64>(), 0..LONGEST),
    ) {
        let cipher = Sparx64::new(&key);
        let encrypted: Vec<_> = blocks.iter().map(|&block| cipher.encrypt_u64(block)).collect();
        let decrypted: Vec<_> = blocks.iter().map(|&block| cipher.decrypt_u64(block)).collect();
        let bytes: Vec<_> = blocks.iter().map(|block| block.to_le_bytes()).collect();
        for backend in Backend::available() {
            let (mut up, mut down) = (blocks.clone(), blocks.clone());
            cipher.encrypt_blocks_with(backend, &mut up);
            cipher.decrypt_blocks_with(backend, &mut down);
            prop_assert_eq!(&up, &encrypted, "{}", backend);
            prop_assert_eq!(&down, &decrypted, "{}", backend);

            let (mut up, mut down) = (bytes.clone(), bytes.clone());
            cipher.encrypt_blocks_with(backend, &mut up);
            cipher.decrypt_blocks_with(backend, &mut down);
            prop_assert!(up.iter().zip(&encrypted).all(|(up, n)| *up == n.to_le_bytes()));
            prop_assert!(down.iter().zip(&decrypted).all(|(down, n)| *down == n.to_le_bytes()));
        }
        let (mut up, mut down) = (blocks.clone(), blocks);
        cipher.encrypt_blocks(&mut up);
        cipher.decrypt_blocks(&mut down);
        prop_assert_eq!((up, down), (encrypted, decrypted));
    }
}

#[test]
fn backends_have_names_and_an_order() {
    let names: Vec<_> = Backend::available().map(Backend::name).collect();
    assert_eq!(names.last(), Some(&"portable"));
    assert_eq!(names.first(), Some(&Backend::best().name()));
    assert_eq!(format!("{} {:?}", Backend::best(), Backend::best()), {
        let name = Backend::best().name();
        format!("{name} Backend({name:?})")
    });
}

/// A build for a machine that always has vectors uses them.
#[cfg(any(
    all(target_arch = "aarch64", target_endian = "little"),
    target_feature = "simd128"
))]
#[test]
fn vectors_are_used() {
    let expected = if cfg!(target_arch = "aarch64") {
        "neon"
    } else {
        "simd128"
    };
    assert_eq!(Backend::best().name(), expected);
}

/// Detection agrees with the standard library's.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn x86_64_backends_are_those_that_std_detects() {
    use std::is_x86_feature_detected as has;

    let has_backend = |name| Backend::available().any(|backend| backend.name() == name);
    assert!(has_backend("sse2"));
    assert_eq!(has_backend("avx2"), has!("avx2"));
    assert_eq!(
        has_backend("avx512"),
        has!("avx512f") && has!("avx512bw") && has!("avx512vbmi2")
    );
}
