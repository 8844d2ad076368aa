//! Words of 8 blocks in a 128-bit register. Every x86-64 processor has it.
#![expect(unsafe_code, reason = "no safe function reads a vector")]

use core::{
    arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_cvtsi32_si128, _mm_or_si128, _mm_sll_epi16, _mm_srl_epi16,
        _mm_sub_epi16, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpacklo_epi16,
        _mm_unpacklo_epi32, _mm_xor_si128,
    },
    iter::zip,
    mem,
};

use super::vector_words::vector_words;
use crate::{
    backend::lanes::{self, Lanes},
    round::{Branches, Direction, Word16},
    round_keys::Schedule,
};

/// SSE2 has no load that broadcasts, and in its place two shuffles for each key cost a third of
/// the time. So the keys are broadcast once.
#[target_feature(enable = "sse2")]
pub(super) fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    // As secret as what it is made of; `Schedule` wipes it when the call ends.
    let key = BroadcastKey::default();
    let mut wide = Schedule {
        steps: [[[[key; 2]; 3]; 2]; 8],
        whitening: [[key; 2]; 2],
    };
    broadcast(schedule, &mut wide);
    lanes::run::<D, Sse2, 8, 2>(&wide, blocks);
}

/// Writes to where the keys are used: one that is returned is copied, and its first place not
/// wiped.
fn broadcast(schedule: &Schedule, wide: &mut Schedule<BroadcastKey>) {
    for (wide, narrow) in zip(wide.steps.as_flattened_mut(), schedule.steps.as_flattened()) {
        for (wide, narrow) in zip(wide.as_flattened_mut(), narrow.as_flattened()) {
            *wide = BroadcastKey([*narrow; 8]);
        }
    }
    let whitening = wide.whitening.as_flattened_mut();
    for (wide, narrow) in zip(whitening, schedule.whitening.as_flattened()) {
        *wide = BroadcastKey([*narrow; 8]);
    }
}

/// One key for all lanes. Aligned, so that an XOR takes it from memory.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct BroadcastKey([u16; 8]);

vector_words! {
    Sse2 = [BroadcastKey; 8] in __m128i; _mm_xor_si128, _mm_add_epi16, _mm_sub_epi16
}

#[target_feature(enable = "sse2")]
#[inline]
fn splat(key: BroadcastKey) -> __m128i {
    // SAFETY: any bytes are a vector, and both types have 16 of them.
    unsafe { mem::transmute::<[u16; 8], __m128i>(key.0) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn rotate_left(words: __m128i, count: u32) -> __m128i {
    let count = count.cast_signed();
    _mm_or_si128(
        _mm_sll_epi16(words, _mm_cvtsi32_si128(count)),
        _mm_srl_epi16(words, _mm_cvtsi32_si128(16_i32.wrapping_sub(count))),
    )
}

#[target_feature(enable = "sse2")]
#[inline]
fn gather([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    // Blocks by number, words by letter: a = 0ABCD 1ABCD, b = 2 3, c = 4 5, d = 6 7.
    let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
    // a = 04A 04B 04C 04D, b = 15, c = 26, d = 37.
    let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
    // a = 0246A 0246B, b = 0246C 0246D, c = 1357A 1357B, d = 1357C 1357D.
    let ((a, b), (c, d)) = (interleave(a, c), interleave(b, d));
    [a, b, c, d].map(|words| rotate_left(words, 8))
}

/// The inverse of [`gather`].
#[target_feature(enable = "sse2")]
#[inline]
fn scatter(words: [__m128i; 4]) -> [__m128i; 4] {
    let [a, b, c, d] = words.map(|words| rotate_left(words, 8));
    let ((low_ab, high_ab), (low_cd, high_cd)) = (interleave(a, b), interleave(c, d));
    [
        _mm_unpacklo_epi32(low_ab, low_cd),
        _mm_unpackhi_epi32(low_ab, low_cd),
        _mm_unpacklo_epi32(high_ab, high_cd),
        _mm_unpackhi_epi32(high_ab, high_cd),
    ]
}

/// A word of the first vector, a word of the second and so on: the lower half, and the upper one.
#[target_feature(enable = "sse2")]
#[inline]
fn interleave(a: __m128i, b: __m128i) -> (__m128i, __m128i) {
    (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b))
}
