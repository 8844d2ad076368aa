//! WebAssembly's vectors: words of 8 blocks in 128 bits. Present where the whole module is built
//! with them, as a module with an unknown instruction does not load.
#![expect(
    clippy::inline_always,
    reason = "vector code must end up inside a function that has the target feature"
)]

use core::{
    arch::wasm32::{
        i8x16_shuffle, i16x8_shuffle, i32x4_shuffle, u16x8_add, u16x8_shl, u16x8_shr, u16x8_splat,
        u16x8_sub, v128, v128_or, v128_xor,
    },
    mem,
};

use super::lanes::{self, Implementation, Lanes, PORTABLE};
use crate::{
    round::{Branches, Decrypt, Direction, Encrypt, Word16},
    round_keys::Schedule,
};

pub(super) fn available() -> &'static [Implementation] {
    // Nothing to detect at run time: a processor without vectors has not loaded the module.
    &[SIMD128, PORTABLE]
}

const SIMD128: Implementation = Implementation {
    name: "simd128",
    min_blocks: 3,
    encrypt: run::<Encrypt>,
    decrypt: run::<Decrypt>,
};

/// Two groups, as most machines underneath have 16 registers: 8 of them hold blocks.
fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    lanes::run::<D, Simd128, 8, 2>(schedule, blocks);
}

#[derive(Clone, Copy)]
struct Simd128(v128);

impl Word16 for Simd128 {
    type Key = u16;

    #[inline(always)]
    fn splat(key: u16) -> Self {
        Self(u16x8_splat(key))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(u16x8_add(self.0, other.0))
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(u16x8_sub(self.0, other.0))
    }

    #[inline(always)]
    fn rotate_left(self, count: u32) -> Self {
        // A rotation by a byte is one shuffle.
        if count == 8 {
            return Self(swap_bytes(self.0));
        }
        Self(v128_or(
            u16x8_shl(self.0, count),
            u16x8_shr(self.0, 16_u32.wrapping_sub(count)),
        ))
    }
}

impl Lanes<8> for Simd128 {
    #[inline(always)]
    fn load(blocks: &[[u8; 8]; 8]) -> Branches<Self> {
        #[expect(unsafe_code, reason = "no safe function reads a vector")]
        // SAFETY: any bytes are vectors; the compiler compares the sizes.
        let vectors = unsafe { mem::transmute::<[[u8; 8]; 8], [v128; 4]>(*blocks) };
        let [a, b, c, d] = vectors.map(swap_bytes);
        // Three perfect shuffles of all 32 words bring those with the same number mod 4 together.
        let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
        let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
        let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
        ((Self(a), Self(b)), (Self(c), Self(d)))
    }

    #[inline(always)]
    fn store(((a, b), (c, d)): Branches<Self>, blocks: &mut [[u8; 8]; 8]) {
        let (low_ab, high_ab) = interleave(a.0, b.0);
        let (low_cd, high_cd) = interleave(c.0, d.0);
        let vectors = [
            i32x4_shuffle::<0, 4, 1, 5>(low_ab, low_cd),
            i32x4_shuffle::<2, 6, 3, 7>(low_ab, low_cd),
            i32x4_shuffle::<0, 4, 1, 5>(high_ab, high_cd),
            i32x4_shuffle::<2, 6, 3, 7>(high_ab, high_cd),
        ]
        .map(swap_bytes);
        #[expect(unsafe_code, reason = "no safe function writes a vector")]
        // SAFETY: any bytes are blocks; the compiler compares the sizes.
        let bytes = unsafe { mem::transmute::<[v128; 4], [[u8; 8]; 8]>(vectors) };
        *blocks = bytes;
    }
}

#[inline(always)]
fn swap_bytes(words: v128) -> v128 {
    i8x16_shuffle::<1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14>(words, words)
}

/// A word of the first vector, a word of the second and so on: the lower half, and the upper one.
#[inline(always)]
fn interleave(a: v128, b: v128) -> (v128, v128) {
    (
        i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(a, b),
        i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(a, b),
    )
}
