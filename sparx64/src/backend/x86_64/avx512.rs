//! Words of 32 blocks in a 512-bit register. VBMI2 rotates words in one instruction, and the
//! compiler makes one of two XORs in a row.
#![expect(unsafe_code, reason = "the instructions are not on every processor")]

use core::{
    arch::x86_64::{
        __m128i, __m512i, _mm_setr_epi8, _mm512_add_epi16, _mm512_broadcast_i32x4,
        _mm512_set1_epi16, _mm512_shldv_epi16, _mm512_shuffle_epi8, _mm512_sub_epi16,
        _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
        _mm512_xor_si512,
    },
    mem,
};

use super::vector_words::vector_words;
use crate::{
    backend::lanes::{self, Lanes},
    round::{Branches, Direction, Word16},
    round_keys::Schedule,
};

/// Four groups, so that one works while the others wait: 16 of 32 registers hold blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(super) fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    lanes::run::<D, Avx512, 32, 4>(schedule, blocks);
}

vector_words! {
    Avx512 = [u16; 32] in __m512i; _mm512_xor_si512, _mm512_add_epi16, _mm512_sub_epi16
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
#[inline]
fn splat(key: u16) -> __m512i {
    _mm512_set1_epi16(key.cast_signed())
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
#[inline]
fn rotate_left(words: __m512i, count: u32) -> __m512i {
    #[expect(clippy::cast_possible_truncation, reason = "counts are below 16")]
    let count = _mm512_set1_epi16(count as i16);
    // A double shift of a word with itself is a rotation.
    _mm512_shldv_epi16(words, words, count)
}

/// Puts bytes in another order, the same in all quarters.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn shuffle(bytes: __m512i, order: __m128i) -> __m512i {
    _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order))
}

/// Swaps the bytes of words `ABCD` of two blocks and brings like words together, `AABBCCDD`; then
/// transposes four vectors of such pairs.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn gather(blocks: [__m512i; 4]) -> [__m512i; 4] {
    let pairs = _mm_setr_epi8(1, 0, 9, 8, 3, 2, 11, 10, 5, 4, 13, 12, 7, 6, 15, 14);
    transpose(blocks.map(|blocks| shuffle(blocks, pairs)))
}

/// The inverse of [`gather`].
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn scatter(words: [__m512i; 4]) -> [__m512i; 4] {
    let blocks = _mm_setr_epi8(1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14);
    transpose(words).map(|pairs| shuffle(pairs, blocks))
}

/// Transposes each square of four 32-bit items in four vectors: its own inverse.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}
