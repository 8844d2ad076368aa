//! All digits of an id in a 128-bit register. Every x86-64 processor has it.
#![expect(unsafe_code, reason = "the instructions are called as of a feature")]

use core::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_and_si128, _mm_cmpgt_epi8, _mm_cvtsi128_si64, _mm_madd_epi16,
    _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi16, _mm_set1_epi32,
    _mm_set1_epi64x, _mm_slli_epi16, _mm_slli_epi32, _mm_slli_epi64, _mm_srli_epi16,
    _mm_srli_epi32, _mm_srli_epi64, _mm_sub_epi8, _mm_unpackhi_epi64,
};
use core::mem;

use super::{BITS_PER_DIGIT, BUFFER_LEN, LANES_BITS, scalar};

/// The digits in one half of the register.
const HALF: usize = 8;
/// Half of the bits of one half.
const TWENTY_BITS: u64 = (1 << 20) - 1;
/// From the digit after `9` to the digit `a`: ASCII has this much between them.
const GAP: i8 = (b'a' - b'9' - 1).cast_signed();

/// The 16 digits, zeros before the number.
#[inline]
pub(super) fn encode(bits: u64) -> [u8; BUFFER_LEN] {
    // SAFETY: this module is compiled for targets that have SSE2.
    unsafe { digits(bits) }
}

/// The number of at most 13 digits, and whether all bytes were digits; if not, the number has no
/// meaning.
#[inline]
pub(super) fn number(text: &[u8]) -> (u64, bool) {
    // For 8 to 15 digits they overlap, and agree where they do.
    let (Some(&first), Some(&last)) = (text.first_chunk(), text.last_chunk()) else {
        return scalar::number(text);
    };
    // SAFETY: this module is compiled for targets that have SSE2.
    let ([first, last], all_digits) = unsafe { numbers(first, last) };
    #[expect(clippy::cast_possible_truncation, reason = "at most 13")]
    let shift = (text.len().wrapping_sub(HALF) as u32).wrapping_mul(BITS_PER_DIGIT);
    (first.wrapping_shl(shift) | last, all_digits)
}

#[target_feature(enable = "sse2")]
#[inline]
fn digits(bits: u64) -> [u8; BUFFER_LEN] {
    let (high, low) = (bits >> LANES_BITS, bits & ((1 << LANES_BITS) - 1));
    let forties = _mm_set_epi64x(low.cast_signed(), high.cast_signed());
    // Groups are halved three times, and the first half goes to the lower place: the first digit to
    // the first byte.
    let mask = _mm_set1_epi64x(TWENTY_BITS.cast_signed());
    let twenties = _mm_or_si128(
        _mm_srli_epi64::<20>(forties),
        _mm_slli_epi64::<32>(_mm_and_si128(forties, mask)),
    );
    let mask = _mm_set1_epi32(0x3FF);
    let tens = _mm_or_si128(
        _mm_and_si128(_mm_srli_epi32::<10>(twenties), mask),
        _mm_slli_epi32::<16>(_mm_and_si128(twenties, mask)),
    );
    let mask = _mm_set1_epi16(0x1F);
    let digits = _mm_or_si128(
        _mm_srli_epi16::<5>(tens),
        _mm_slli_epi16::<8>(_mm_and_si128(tens, mask)),
    );
    let letters = _mm_cmpgt_epi8(digits, _mm_set1_epi8(9));
    let zeros = _mm_set1_epi8(b'0'.cast_signed());
    let gaps = _mm_and_si128(letters, _mm_set1_epi8(GAP));
    let characters = _mm_add_epi8(_mm_add_epi8(digits, zeros), gaps);
    // SAFETY: any bytes are a vector, and both types have 16 of them.
    unsafe { mem::transmute::<__m128i, [u8; BUFFER_LEN]>(characters) }
}

/// The numbers of two groups of eight digits.
#[target_feature(enable = "sse2")]
#[inline]
fn numbers(first: [u8; HALF], last: [u8; HALF]) -> ([u64; 2], bool) {
    let characters = _mm_set_epi64x(i64::from_le_bytes(last), i64::from_le_bytes(first));
    // `@` is before all letters. Bytes over ASCII are negative numbers, and so are their digits:
    // 0x80 and up, less 48, is -176, which wraps to 80.
    let letters = _mm_cmpgt_epi8(characters, _mm_set1_epi8(b'@'.cast_signed()));
    let zeros = _mm_set1_epi8(b'0'.cast_signed());
    let gaps = _mm_and_si128(letters, _mm_set1_epi8(GAP));
    let digits = _mm_sub_epi8(_mm_sub_epi8(characters, zeros), gaps);
    // 0 to 9, and of letters 10 to 31.
    let smallest = _mm_and_si128(letters, _mm_set1_epi8(10));
    let largest = _mm_add_epi8(
        _mm_set1_epi8(9),
        _mm_and_si128(letters, _mm_set1_epi8(31 - 9)),
    );
    let foreign = _mm_or_si128(
        _mm_cmpgt_epi8(digits, largest),
        _mm_cmpgt_epi8(smallest, digits),
    );
    // Back as they came, and the second doubling in one multiplication.
    let firsts = _mm_and_si128(digits, _mm_set1_epi16(0xFF));
    let tens = _mm_or_si128(_mm_slli_epi16::<5>(firsts), _mm_srli_epi16::<8>(digits));
    let twenties = _mm_madd_epi16(tens, _mm_set1_epi32(1 << 16 | 1 << 10));
    let first = _mm_cvtsi128_si64(twenties).cast_unsigned();
    let last = _mm_cvtsi128_si64(_mm_unpackhi_epi64(twenties, twenties)).cast_unsigned();
    let forty = |twenties: u64| (twenties & TWENTY_BITS) << 20 | twenties >> 32;
    ([forty(first), forty(last)], _mm_movemask_epi8(foreign) == 0)
}
