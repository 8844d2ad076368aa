extern crate std;

use core::array;
use std::vec;
use std::vec::Vec;

use super::{Feistel53, Network};
use crate::{Permutation, Sparx64, Sparx64OnTheFly};

const KEY: [u8; 16] = *b"sixteen byte key";

/// All numbers of a network become all numbers, and come back.
fn check_bijection<const LEFT: u32, const RIGHT: u32>() {
    let network = Network::<LEFT, RIGHT, _> {
        cipher: Sparx64::new(&KEY),
    };
    let count = 1 << LEFT << RIGHT;
    let mut ids: Vec<u64> = (0..count).collect();
    network.permute_all(&mut ids);
    let mut is_taken = vec![false; ids.len()];
    for (raw, id) in (0..).zip(&ids) {
        let place = usize::try_from(*id).unwrap();
        assert!(!is_taken[place], "{id} twice");
        is_taken[place] = true;
        if raw % 64 == 0 {
            assert_eq!(network.permute(raw), *id);
            assert_eq!(network.invert(*id), raw);
        }
    }
    network.invert_all(&mut ids);
    assert!((0..count).eq(ids));
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of thousands of blocks")]
fn all_numbers_of_13_bits() {
    check_bijection::<6, 7>();
}

// The wider half on the left, and halves of one width: nothing depends on which is wider.
#[test]
#[cfg_attr(miri, ignore = "thousands of blocks")]
fn all_numbers_of_other_halves() {
    check_bijection::<4, 3>();
    check_bijection::<2, 2>();
    check_bijection::<1, 2>();
}

#[test]
#[cfg_attr(miri, ignore = "millions of blocks")]
fn all_numbers_of_19_bits() {
    check_bijection::<9, 10>();
}

/// FF1 as its standard writes it: halves that change places, and a modulus for each.
#[test]
#[expect(clippy::many_single_char_names, reason = "the standard's names")]
fn the_structure_is_that_of_ff1() {
    let cipher = Sparx64::new(&KEY);
    let numbers = Feistel53::new(cipher.clone());
    let (u, v) = (26, 27);
    let raws = [0x0f_1234_5678_9abc, 0, 1, (1 << 53) - 1, 1 << 27, 1 << 26];
    let some = if cfg!(miri) { 1 } else { raws.len() };
    for raw in raws.into_iter().take(some) {
        let [mut a, mut b] = [raw / 2_u64.pow(27), raw % 2_u64.pow(27)];
        for i in 0..26_u64 {
            let m = if i % 2 == 0 { u } else { v };
            let p = u64::from_be_bytes([b'F', 26, 26, 27, 0, 0, 0, 0]) + i * 2_u64.pow(27) + b;
            let y = cipher.encrypt_u64(p) % 2_u64.pow(32);
            let c = (a + y) % 2_u64.pow(m);
            a = b;
            b = c;
        }
        assert_eq!(numbers.permute(raw), a * 2_u64.pow(27) + b);
    }
}

#[test]
fn all_ways_to_compute_it_agree() {
    let numbers = Feistel53::new(Sparx64::new(&KEY));
    let small = Feistel53::new(Sparx64OnTheFly::new(&KEY));
    let raws: [u64; 77] = array::from_fn(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11);
    // An interpreter takes seconds for each id. What it could find is in the cipher, whose own batches it runs.
    let lens: &[usize] = if cfg!(miri) {
        &[2]
    } else {
        &[0, 1, 31, 32, 33, 64, 77]
    };
    for &len in lens {
        let mut ids = raws;
        numbers.permute_all(&mut ids[..len]);
        for (raw, id) in raws.iter().zip(&ids[..len]) {
            assert!(*id < 1 << 53);
            assert_eq!(numbers.permute(*raw), *id);
            assert_eq!(small.permute(*raw), *id);
            assert_eq!(numbers.invert(*id), *raw);
            assert_eq!(small.invert(*id), *raw);
        }
        numbers.invert_all(&mut ids[..len]);
        assert_eq!(ids, raws);
    }
}

#[test]
fn bits_above_are_kept() {
    let numbers = Feistel53::new(Sparx64::new(&KEY));
    let above = 0x7ff << 53;
    assert_eq!(numbers.permute(above | 0x42), above | numbers.permute(0x42));
    assert_eq!(numbers.invert(above | 0x42), above | numbers.invert(0x42));
}
