//! Eight ids to decimal digits: a head of 1 to 4 and two groups of eight. The groups come out of divisions of doubles,
//! which are exact here, and are halved three times, all parts at once.
#![expect(unsafe_code, reason = "the instructions are not on every processor")]

use core::arch::x86_64::{
    __m256d, __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_add_pd, _mm256_blend_epi32,
    _mm256_blendv_epi8, _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi32, _mm256_cmpgt_epi64, _mm256_movemask_epi8, _mm256_mul_epu32, _mm256_mul_pd,
    _mm256_mulhi_epu16, _mm256_mullo_epi16, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_pd, _mm256_setzero_si256, _mm256_slli_epi16, _mm256_slli_epi32,
    _mm256_slli_epi64, _mm256_srai_epi32, _mm256_srli_epi16, _mm256_srli_epi64, _mm256_srlv_epi32,
    _mm256_sub_epi16, _mm256_sub_epi32, _mm256_sub_epi64, _mm256_sub_pd, _mm256_xor_si256,
};
use core::array;
use core::mem;

use super::{each, interleave, load, put};
use crate::Id;
use crate::lines::{Notation, scalar};

/// Eight numbers in two vectors, so that one works while the other waits.
type Eight = [__m256i; 2];

const IDS: usize = 8;
/// A sign or one digit more, 19 digits, a separator.
const WINDOW: usize = IDS * 21;
const TEN_TO_16: u64 = 10_000_000_000_000_000;
const TEN_TO_8: u64 = 100_000_000;

#[target_feature(enable = "avx2")]
pub(super) fn write<const SIGNED: bool>(ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    let notation = if SIGNED {
        Notation::Signed
    } else {
        Notation::Unsigned
    };
    let (groups, rest) = ids.as_chunks();
    let mut end = 0_usize;
    for group in groups {
        let window = buffer
            .get_mut(end..)
            .and_then(|rest| rest.first_chunk_mut());
        let written = window.and_then(|window| eight::<SIGNED>(group, separator, window));
        end = match written {
            Some(len) => end.wrapping_add(len),
            None => scalar::append(notation, group, separator, buffer, end),
        };
    }
    scalar::append(notation, rest, separator, buffer, end)
}

/// Writes ids of 17 digits or more and gives the bytes that they take; `None` if one has fewer.
#[target_feature(enable = "avx2")]
#[inline]
fn eight<const SIGNED: bool>(
    ids: &[Id; IDS],
    separator: u8,
    window: &mut [u8; WINDOW],
) -> Option<usize> {
    let (halves, _) = ids.as_chunks();
    let given: Eight = array::from_fn(|half| load(&halves[half]));
    let numbers = if SIGNED {
        given.map(|number| magnitude(number))
    } else {
        given
    };
    // 10^16 is 2^16 * 5^16.
    let heads = numbers.map(|number| quotient(_mm256_srli_epi64::<16>(number), 152_587_890_625));
    let rests: Eight = array::from_fn(|half| {
        let low = _mm256_mul_epu32(heads[half], each(TEN_TO_16 & 0xFFFF_FFFF));
        let high = _mm256_mul_epu32(heads[half], each(TEN_TO_16 >> 32));
        let product = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(high));
        _mm256_sub_epi64(numbers[half], product)
    });
    // All eight in the lanes of 32 bits, the second half in the upper ones.
    let heads = _mm256_blend_epi32::<0b1010_1010>(heads[0], _mm256_slli_epi64::<32>(heads[1]));
    let is_zero = _mm256_cmpeq_epi32(heads, _mm256_setzero_si256());
    if _mm256_movemask_epi8(is_zero) != 0 {
        return None;
    }
    // 10^8 is 2^8 * 5^8.
    let first = rests.map(|rest| quotient(_mm256_srli_epi64::<8>(rest), 390_625));
    let second = array::from_fn(|half| {
        let product = _mm256_mul_epu32(first[half], each(TEN_TO_8));
        _mm256_sub_epi64(rests[half], product)
    });
    let (first, second) = (eight_digits(first), eight_digits(second));
    let texts: [_; 2] = array::from_fn(|half| interleave(first[half], second[half]));
    let (mut heads, mut lengths) = head_digits(heads);
    if SIGNED {
        (heads, lengths) = with_signs(heads, lengths, given);
    }
    // SAFETY: any vector is so many bytes.
    let heads = unsafe { mem::transmute::<__m256i, [[[u8; 4]; 2]; 4]>(heads) };
    // SAFETY: any vector is so many numbers.
    let lengths = unsafe { mem::transmute::<__m256i, [[u32; 2]; 4]>(lengths) };
    let mut at = 0_usize;
    for half in 0..2 {
        for index in 0..4 {
            // SAFETY: before an id are at most 7 * 21 bytes, and itself takes 21: a head of at most 4 with its sign, 16
            // digits and the separator.
            unsafe { put(window, at, heads[index][half]) };
            at = at.wrapping_add(lengths[index][half] as usize);
            // SAFETY: as above.
            unsafe { put(window, at, texts[half][index]) };
            at = at.wrapping_add(16);
            // SAFETY: as above.
            unsafe { put(window, at, [separator]) };
            at = at.wrapping_add(1);
        }
    }
    Some(at)
}

#[target_feature(enable = "avx2")]
#[inline]
fn magnitude(numbers: __m256i) -> __m256i {
    let signs = _mm256_cmpgt_epi64(_mm256_setzero_si256(), numbers);
    _mm256_sub_epi64(_mm256_xor_si256(numbers, signs), signs)
}

/// The whole part of `numbers / divisor` in the low 32 bits of each lane; the others have no meaning.
///
/// The numbers are below 2^48, the divisor is odd, and the quotient below 2^27.
///
/// Half of the divisor is subtracted, so that rounding to the nearest gives the whole part: what is rounded is at least
/// 1 / (2 * divisor) away from a half. For 5^16 that is 3.3e-12, and quotients below 1,845 are wrong by less than 4e-13;
/// for 5^8 it is 1.3e-6, and quotients below 10^8 are wrong by less than 3e-8.
#[target_feature(enable = "avx2")]
#[inline]
fn quotient(numbers: __m256i, divisor: u64) -> __m256i {
    /// At this size the lowest bits of a double are those of its whole part.
    const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let (half, inverse) = ((divisor / 2) as f64, 1.0 / divisor as f64);
    let exponent = each(TWO_TO_52.to_bits());
    let doubles = _mm256_castsi256_pd(_mm256_or_si256(numbers, exponent));
    let less_half = _mm256_sub_pd(doubles, all(TWO_TO_52 + half));
    let quotients = _mm256_mul_pd(less_half, all(inverse));
    // One and a half times as much, so that a negative number does not change the exponent.
    let rounded = _mm256_add_pd(quotients, all(1.5 * TWO_TO_52));
    _mm256_castpd_si256(rounded)
}

#[target_feature(enable = "avx2")]
#[inline]
fn all(number: f64) -> __m256d {
    _mm256_set1_pd(number)
}

/// The ASCII digits of numbers below 10^8, in the low 32 bits of each lane; the first digit in the lowest byte.
#[target_feature(enable = "avx2")]
#[inline]
fn eight_digits(numbers: Eight) -> Eight {
    // ceil(2^45 / 10^4)
    let quotients = numbers
        .map(|number| _mm256_srli_epi64::<45>(_mm256_mul_epu32(number, each(3_518_437_209))));
    let fours = array::from_fn(|half| {
        let product = _mm256_mul_epu32(quotients[half], each(10_000));
        let remainder = _mm256_sub_epi64(numbers[half], product);
        _mm256_or_si256(quotients[half], _mm256_slli_epi64::<32>(remainder))
    });
    four_digits(fours)
}

/// The ASCII digits of numbers below 10^4, in lanes of 32 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn four_digits<const N: usize>(numbers: [__m256i; N]) -> [__m256i; N] {
    // ceil(2^19 / 100)
    let quotients = numbers
        .map(|number| _mm256_srli_epi16::<3>(_mm256_mulhi_epu16(number, _mm256_set1_epi32(5_243))));
    let pairs: [_; N] = array::from_fn(|index| {
        let product = _mm256_mullo_epi16(quotients[index], _mm256_set1_epi32(100));
        let remainder = _mm256_sub_epi32(numbers[index], product);
        _mm256_or_si256(quotients[index], _mm256_slli_epi32::<16>(remainder))
    });
    // ceil(2^16 / 10)
    let tens = pairs.map(|pair| _mm256_mulhi_epu16(pair, _mm256_set1_epi16(6_554)));
    array::from_fn(|index| {
        // The tens, and 256 times what is left: 256 * (pair - 10 * tens) + tens.
        let product = _mm256_mullo_epi16(tens[index], _mm256_set1_epi16(256 * 10 - 1));
        let digits = _mm256_sub_epi16(_mm256_slli_epi16::<8>(pairs[index]), product);
        _mm256_or_si256(digits, _mm256_set1_epi8(b'0'.cast_signed()))
    })
}

/// The digits of heads from 1 to 1,844 without leading zeros, and how many they are.
#[target_feature(enable = "avx2")]
#[inline]
fn head_digits(heads: __m256i) -> (__m256i, __m256i) {
    let [digits] = four_digits([heads]);
    let is_below = |number| _mm256_cmpgt_epi32(_mm256_set1_epi32(number), heads);
    // Each comparison that holds is -1.
    let shorter = _mm256_add_epi32(
        is_below(10),
        _mm256_add_epi32(is_below(100), is_below(1_000)),
    );
    let bits = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32::<3>(shorter));
    let digits = _mm256_srlv_epi32(digits, bits);
    let lengths = _mm256_add_epi32(_mm256_set1_epi32(4), shorter);
    (digits, lengths)
}

/// A minus before the heads of negative numbers: signed ones have heads of at most three digits.
#[target_feature(enable = "avx2")]
#[inline]
fn with_signs(heads: __m256i, lengths: __m256i, numbers: Eight) -> (__m256i, __m256i) {
    let upper = _mm256_srli_epi64::<32>(numbers[0]);
    let upper = _mm256_blend_epi32::<0b1010_1010>(upper, numbers[1]);
    let is_negative = _mm256_srai_epi32::<31>(upper);
    let minus = _mm256_set1_epi32(i32::from(b'-'));
    let signed = _mm256_or_si256(_mm256_slli_epi32::<8>(heads), minus);
    (
        _mm256_blendv_epi8(heads, signed, is_negative),
        _mm256_sub_epi32(lengths, is_negative),
    )
}
