//! Conversion of blocks between bytes, numbers and the four words of the cipher.

use core::slice;

use crate::round::Branches;

/// The four big-endian words of a block that was read as a little-endian number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes a word of the block")]
pub(crate) fn load(block: u64) -> Branches<u16> {
    // The number is little-endian and a word of the cipher big-endian: the words lie in order, and
    // only the two bytes of each are the wrong way round.
    let word = |shift: u32| ((block >> shift) as u16).swap_bytes();
    ((word(0), word(16)), (word(32), word(48)))
}

/// The inverse of [`load`].
#[inline]
pub(crate) fn store(((a, b), (c, d)): Branches<u16>) -> u64 {
    let word = |word: u16, shift: u32| u64::from(word.swap_bytes()) << shift;
    word(a, 0) | word(b, 16) | word(c, 32) | word(d, 48)
}

/// Views numbers as blocks of 8 bytes, in the byte order of the target.
fn as_bytes(numbers: &mut [u64]) -> &mut [[u8; 8]] {
    let start = numbers.as_mut_ptr().cast();
    #[expect(unsafe_code, reason = "no safe function casts between slices")]
    // SAFETY: the same memory, borrowed for as long. Both types have 8 bytes, all of which may take
    // any value, and the new one needs the lesser alignment.
    unsafe {
        slice::from_raw_parts_mut(start, numbers.len())
    }
}

/// A type that slices of blocks may have: `[u8; 8]`, or the `u64` whose little-endian bytes they
/// are.
///
/// Implemented for `[u8; 8]` and `u64`, and for nothing else.
pub trait CipherBlock: sealed::CipherBlock {}

impl CipherBlock for [u8; 8] {}

impl CipherBlock for u64 {}

pub(crate) mod sealed {
    #[expect(unnameable_types, reason = "nobody else is to implement it")]
    pub trait CipherBlock: Sized {
        /// Lends the blocks as bytes.
        fn with_bytes(blocks: &mut [Self], run: impl FnOnce(&mut [[u8; 8]]));
    }

    impl CipherBlock for [u8; 8] {
        #[inline]
        fn with_bytes(blocks: &mut [Self], run: impl FnOnce(&mut [[u8; 8]])) {
            run(blocks);
        }
    }

    impl CipherBlock for u64 {
        /// The passes over the slice do nothing, and are removed, on a little-endian target.
        #[inline]
        fn with_bytes(blocks: &mut [Self], run: impl FnOnce(&mut [[u8; 8]])) {
            for block in &mut *blocks {
                *block = block.to_le();
            }
            run(super::as_bytes(blocks));
            for block in blocks {
                *block = Self::from_le(*block);
            }
        }
    }
}
