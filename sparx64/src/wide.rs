//! A 16-bit word in a 32-bit register, for processors that have no other.
//!
//! Only the lower half counts. The upper one holds what is left over, so nothing is spent on keeping
//! it clean; a rotation, the one operation that would see it, writes the word into both halves, of
//! which a shift then takes the turned word. That is one instruction (`pkhbt`) with the Armv7E-M
//! extensions, and the shift comes free with the addition or XOR that follows. A `u16` takes four.

use crate::{
    round::{Branch, State, Word},
    schedule::RoundKey,
};

#[derive(Clone, Copy)]
pub(crate) struct Wide(u32);

impl Word for Wide {
    type Key = u16;

    #[inline]
    fn splat(key: u16) -> Self {
        Self(key.into())
    }

    /// One load for both words.
    #[inline]
    fn splat_pair(key: &RoundKey) -> Branch<Self> {
        unpack(keep(packed(key)))
    }

    #[inline]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    /// The compiler would otherwise XOR the key with a part of the word, and lose a free shift.
    #[inline]
    fn add_key(self, key: Self) -> Self {
        Self(keep(self.0)).xor(key)
    }

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    #[inline]
    fn rotate_left(self, count: u32) -> Self {
        if count == 8 {
            return Self(swap_halves_bytes(self.0));
        }
        let twice = keep(self.0 << 16 | self.0 & 0xffff);
        Self(twice.wrapping_shr(16_u32.wrapping_sub(count)))
    }
}

/// [`block::load`](crate::block::load) for these words.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes half of the block")]
pub(crate) fn load(block: u64) -> State<Wide> {
    let branch = |half| unpack(swap_halves_bytes(half));
    (branch(block as u32), branch((block >> 32) as u32))
}

/// The inverse of [`load`].
#[inline]
pub(crate) fn store((left, right): State<Wide>) -> u64 {
    let half = |branch| u64::from(swap_halves_bytes(pack(branch)));
    half(left) | half(right) << 32
}

/// Swaps the two bytes of each half.
#[inline]
fn swap_halves_bytes(words: u32) -> u32 {
    words.swap_bytes().rotate_left(16)
}

#[inline]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "as it lies in the key schedule"
)]
fn packed(&[x, y]: &RoundKey) -> u32 {
    u32::from(y) << 16 | u32::from(x)
}

#[inline]
fn unpack(words: u32) -> Branch<Wide> {
    (Wide(words), Wide(words >> 16))
}

#[inline]
fn pack((x, y): Branch<Wide>) -> u32 {
    keep(y.0) << 16 | keep(x.0) & 0xffff
}

/// Returns the number, of which the compiler then knows nothing, so that it takes no other way to it.
#[cfg(all(any(target_arch = "arm", target_arch = "riscv32"), not(miri)))]
#[inline]
fn keep(mut number: u32) -> u32 {
    #[expect(unsafe_code, reason = "`black_box` goes through memory")]
    // SAFETY: no instruction at all, only a comment.
    unsafe {
        core::arch::asm!(
            "/* {0} */",
            inout(reg) number,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    number
}

#[cfg(not(all(any(target_arch = "arm", target_arch = "riscv32"), not(miri))))]
#[inline]
fn keep(number: u32) -> u32 {
    number
}
