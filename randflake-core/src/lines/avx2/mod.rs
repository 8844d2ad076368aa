//! Four ids to base32hex or eight to decimal at once, in 256-bit registers.
//!
//! The digits of many ids are found together, and each id's are stored whole, 16 bytes over the place where the next
//! id goes: only where that place is depends on the lengths of those before.
#![expect(unsafe_code, reason = "the instructions are not on every processor")]

mod decimal;

use core::arch::x86_64::{
    __m128i, __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_castsi256_pd,
    _mm256_castsi256_si128, _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_extracti128_si256,
    _mm256_movemask_pd, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_slli_epi16,
    _mm256_slli_epi32, _mm256_slli_epi64, _mm256_srli_epi16, _mm256_srli_epi32, _mm256_srli_epi64,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};
use core::mem;

use sparx64::Backend;

use super::{Notation, scalar};
use crate::Id;

/// Writes all ids. The caller has checked that they fit.
pub(super) fn write(notation: Notation, ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    if !Backend::best().has_avx2() {
        return scalar::append(notation, ids, separator, buffer, 0);
    }
    // SAFETY: the processor has AVX2.
    unsafe { write_vectors(notation, ids, separator, buffer) }
}

#[target_feature(enable = "avx2")]
fn write_vectors(notation: Notation, ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    match notation {
        Notation::Text => write_text(ids, separator, buffer),
        Notation::Signed => decimal::write::<true>(ids, separator, buffer),
        Notation::Unsigned => decimal::write::<false>(ids, separator, buffer),
    }
}

/// The bytes from `at` on become `text`.
///
/// # Safety
///
/// They are within the window: `at + N <= W`.
#[inline]
unsafe fn put<const W: usize, const N: usize>(window: &mut [u8; W], at: usize, text: [u8; N]) {
    debug_assert!(at.saturating_add(N) <= W, "{at} + {N} is over {W}");
    // SAFETY: it is an address of the window.
    let place = unsafe { window.as_mut_ptr().add(at) };
    // SAFETY: so many bytes of the window are there, and bytes need no alignment.
    unsafe { place.cast::<[u8; N]>().write(text) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(ids: &[Id; 4]) -> __m256i {
    let [a, b, c, d] = ids.map(Id::to_i64);
    _mm256_set_epi64x(d, c, b, a)
}

/// The four halves of two vectors, whose lanes are in turn those of the first and of the second.
#[target_feature(enable = "avx2")]
#[inline]
fn interleave(first: __m256i, second: __m256i) -> [[u8; 16]; 4] {
    let even = _mm256_unpacklo_epi64(first, second);
    let odd = _mm256_unpackhi_epi64(first, second);
    [
        _mm256_castsi256_si128(even),
        _mm256_castsi256_si128(odd),
        _mm256_extracti128_si256::<1>(even),
        _mm256_extracti128_si256::<1>(odd),
    ]
    .map(|half: __m128i| {
        // SAFETY: any vector is so many bytes.
        unsafe { mem::transmute::<__m128i, [u8; 16]>(half) }
    })
}

#[target_feature(enable = "avx2")]
#[inline]
fn each(number: u64) -> __m256i {
    _mm256_set1_epi64x(number.cast_signed())
}

/// A bit for each number that is 0.
#[target_feature(enable = "avx2")]
#[inline]
fn zeros(numbers: __m256i) -> i32 {
    let is_zero = _mm256_cmpeq_epi64(numbers, _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(is_zero))
}

/// Digits and a separator.
const TEXT_LEN: usize = 14;
/// The separator before, four texts, and what the last store writes behind them.
const TEXT_WINDOW: usize = 1 + 4 * TEXT_LEN + 2;

#[target_feature(enable = "avx2")]
fn write_text(ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    let (groups, rest) = ids.as_chunks();
    let mut end = 0_usize;
    for group in groups {
        let numbers = load(group);
        // At most 11 digits are rare: one encrypted id in 512.
        let has_short = zeros(_mm256_srli_epi64::<55>(numbers)) != 0;
        let window = end
            .checked_sub(1)
            .and_then(|start| buffer.get_mut(start..)?.first_chunk_mut());
        end = match window {
            Some(window) if !has_short => end.wrapping_add(four_texts(numbers, separator, window)),
            _ => scalar::append(Notation::Text, group, separator, buffer, end),
        };
    }
    scalar::append(Notation::Text, rest, separator, buffer, end)
}

/// Writes ids of 12 or 13 digits behind the first byte, which is a separator, and gives the bytes that they take.
#[target_feature(enable = "avx2")]
#[inline]
fn four_texts(numbers: __m256i, separator: u8, window: &mut [u8; TEXT_WINDOW]) -> usize {
    let eight = base32hex(_mm256_srli_epi64::<25>(numbers));
    let five = _mm256_and_si256(_mm256_slli_epi64::<15>(numbers), each((1 << 40) - 1));
    // Behind the five are zeros, of which the first becomes the separator.
    let ending = each(u64::from(separator.wrapping_sub(b'0')) << 40);
    let five = _mm256_add_epi8(base32hex(five), ending);
    let leading_zeros = zeros(_mm256_srli_epi64::<60>(numbers));
    let mut at = 1_usize;
    for (index, text) in (0..).zip(interleave(eight, five)) {
        let has_leading_zero = leading_zeros >> index & 1 != 0;
        let start = at.wrapping_sub(usize::from(has_leading_zero));
        // SAFETY: before at most three texts of 14 bytes, so 16 bytes from there are within the window.
        unsafe { put(window, start, text) };
        // The zero was written over the separator.
        // SAFETY: `at` is 1 or more.
        unsafe { put(window, at.wrapping_sub(1), [separator]) };
        at = start.wrapping_add(TEXT_LEN);
    }
    at.wrapping_sub(1)
}

/// The eight digits of each number below 2^40, the first in the lowest byte.
#[target_feature(enable = "avx2")]
#[inline]
fn base32hex(numbers: __m256i) -> __m256i {
    let mask = each((1 << 20) - 1);
    let twenties = _mm256_or_si256(
        _mm256_srli_epi64::<20>(numbers),
        _mm256_slli_epi64::<32>(_mm256_and_si256(numbers, mask)),
    );
    let mask = _mm256_set1_epi32(0x3FF);
    let tens = _mm256_or_si256(
        _mm256_and_si256(_mm256_srli_epi32::<10>(twenties), mask),
        _mm256_slli_epi32::<16>(_mm256_and_si256(twenties, mask)),
    );
    let mask = _mm256_set1_epi16(0x1F);
    let digits = _mm256_or_si256(
        _mm256_srli_epi16::<5>(tens),
        _mm256_slli_epi16::<8>(_mm256_and_si256(tens, mask)),
    );
    let letters = _mm256_cmpgt_epi8(digits, _mm256_set1_epi8(9));
    let gap = _mm256_set1_epi8((b'a' - b'9' - 1).cast_signed());
    let zero = _mm256_set1_epi8(b'0'.cast_signed());
    _mm256_add_epi8(
        digits,
        _mm256_add_epi8(_mm256_and_si256(letters, gap), zero),
    )
}
