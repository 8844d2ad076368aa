//! NEON: words of 8 blocks in a 128-bit register. Part of every 64-bit ARM target but a few
//! without floating point.
#![expect(unsafe_code, reason = "no safe function reads a vector")]

#[path = "vector_words.rs"]
mod vector_words;

use core::{
    arch::aarch64::{
        uint16x8_t, vaddq_u16, vdupq_n_s16, vdupq_n_u16, veorq_u16, vorrq_u16,
        vreinterpretq_u8_u16, vreinterpretq_u16_u8, vrev16q_u8, vshlq_u16, vsubq_u16, vuzp1q_u16,
        vuzp2q_u16, vzip1q_u16, vzip2q_u16,
    },
    mem,
};

use super::lanes::{self, Implementation, Lanes, PORTABLE};
use crate::{
    round::{Branches, Decrypt, Direction, Encrypt, Word16},
    round_keys::Schedule,
};
use vector_words::vector_words;

pub(super) fn available() -> &'static [Implementation] {
    &[NEON, PORTABLE]
}

const NEON: Implementation = Implementation {
    name: "neon",
    // Not measured: NEON is tested under an emulator only. See `BULK.md`.
    min_blocks: 3,
    encrypt: run::<Encrypt>,
    decrypt: run::<Decrypt>,
};

/// Four groups, so that one works while the others wait: 16 of 32 registers hold blocks.
#[target_feature(enable = "neon")]
fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    lanes::run::<D, Neon, 8, 4>(schedule, blocks);
}

vector_words! {
    Neon = [u16; 8] in uint16x8_t; veorq_u16, vaddq_u16, vsubq_u16
}

#[target_feature(enable = "neon")]
#[inline]
fn splat(key: u16) -> uint16x8_t {
    vdupq_n_u16(key)
}

/// A shift by a negative count is one to the right.
#[target_feature(enable = "neon")]
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "counts are below 16")]
fn rotate_left(words: uint16x8_t, count: u32) -> uint16x8_t {
    // A rotation by a byte is a byte swap of each word: one instruction, and no constant.
    if count == 8 {
        return swap_bytes(words);
    }
    let count = count as i16;
    vorrq_u16(
        vshlq_u16(words, vdupq_n_s16(count)),
        vshlq_u16(words, vdupq_n_s16(count.wrapping_sub(16))),
    )
}

#[target_feature(enable = "neon")]
#[inline]
fn swap_bytes(words: uint16x8_t) -> uint16x8_t {
    vreinterpretq_u16_u8(vrev16q_u8(vreinterpretq_u8_u16(words)))
}

#[target_feature(enable = "neon")]
#[inline]
fn gather(blocks: [uint16x8_t; 4]) -> [uint16x8_t; 4] {
    let [a, b, c, d] = blocks.map(|blocks| swap_bytes(blocks));
    // Of words ABCD of two blocks each, A and C, and B and D; then each by itself.
    let (ac, bd) = (vuzp1q_u16(a, b), vuzp2q_u16(a, b));
    let (more_ac, more_bd) = (vuzp1q_u16(c, d), vuzp2q_u16(c, d));
    [
        vuzp1q_u16(ac, more_ac),
        vuzp1q_u16(bd, more_bd),
        vuzp2q_u16(ac, more_ac),
        vuzp2q_u16(bd, more_bd),
    ]
}

/// The inverse of [`gather`].
#[target_feature(enable = "neon")]
#[inline]
fn scatter([a, b, c, d]: [uint16x8_t; 4]) -> [uint16x8_t; 4] {
    let (ac, more_ac) = (vzip1q_u16(a, c), vzip2q_u16(a, c));
    let (bd, more_bd) = (vzip1q_u16(b, d), vzip2q_u16(b, d));
    [
        vzip1q_u16(ac, bd),
        vzip2q_u16(ac, bd),
        vzip1q_u16(more_ac, more_bd),
        vzip2q_u16(more_ac, more_bd),
    ]
    .map(|blocks| swap_bytes(blocks))
}
