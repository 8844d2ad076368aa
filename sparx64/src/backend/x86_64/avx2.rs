//! Words of 16 blocks in a 256-bit register.
#![expect(unsafe_code, reason = "the instructions are not on every processor")]

use core::{
    arch::x86_64::{
        __m128i, __m256i, _mm_cvtsi32_si128, _mm_setr_epi8, _mm256_add_epi16,
        _mm256_broadcastsi128_si256, _mm256_or_si256, _mm256_set1_epi16, _mm256_shuffle_epi8,
        _mm256_sll_epi16, _mm256_srl_epi16, _mm256_sub_epi16, _mm256_unpackhi_epi32,
        _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
    },
    mem,
};

use super::vector_words::vector_words;
use crate::{
    backend::lanes::{self, Lanes},
    round::{Branches, Direction, Word16},
    round_keys::Schedule,
};

/// Two groups, so that one works while the other waits: 8 of 16 registers hold blocks.
#[target_feature(enable = "avx2")]
pub(super) fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    lanes::run::<D, Avx2, 16, 2>(schedule, blocks);
}

vector_words! {
    Avx2 = [u16; 16] in __m256i; _mm256_xor_si256, _mm256_add_epi16, _mm256_sub_epi16
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat(key: u16) -> __m256i {
    _mm256_set1_epi16(key.cast_signed())
}

#[target_feature(enable = "avx2")]
#[inline]
fn rotate_left(words: __m256i, count: u32) -> __m256i {
    // A rotation by a byte is one shuffle, where the general case takes two shifts and an OR.
    if count == 8 {
        return shuffle(
            words,
            _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
        );
    }
    let count = count.cast_signed();
    // AVX2 has no rotation of words, and shifts by a register need no immediate, which `count` is
    // not here.
    _mm256_or_si256(
        _mm256_sll_epi16(words, _mm_cvtsi32_si128(count)),
        _mm256_srl_epi16(words, _mm_cvtsi32_si128(16_i32.wrapping_sub(count))),
    )
}

/// Puts bytes in another order, the same in both halves.
#[target_feature(enable = "avx2")]
#[inline]
fn shuffle(bytes: __m256i, order: __m128i) -> __m256i {
    // The instruction moves no byte from one half to the other. None needs to: see `Lanes`.
    _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order))
}

/// Swaps the bytes of words `ABCD` of two blocks and brings like words together, `AABBCCDD`; then
/// transposes four vectors of such pairs.
#[target_feature(enable = "avx2")]
#[inline]
fn gather(blocks: [__m256i; 4]) -> [__m256i; 4] {
    let pairs = _mm_setr_epi8(1, 0, 9, 8, 3, 2, 11, 10, 5, 4, 13, 12, 7, 6, 15, 14);
    transpose(blocks.map(|blocks| shuffle(blocks, pairs)))
}

/// The inverse of [`gather`].
#[target_feature(enable = "avx2")]
#[inline]
fn scatter(words: [__m256i; 4]) -> [__m256i; 4] {
    let blocks = _mm_setr_epi8(1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14);
    transpose(words).map(|pairs| shuffle(pairs, blocks))
}

/// Transposes each square of four 32-bit items in four vectors: its own inverse.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_low, cd_low),
        _mm256_unpackhi_epi64(ab_low, cd_low),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}
