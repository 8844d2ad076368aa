//! 16-bit words in 32-bit registers, for processors that have no narrower ones.
//!
//! Only the lower half counts. The upper one holds what is left over, so nothing is spent on
//! keeping it clean; a rotation, the one operation that would see it, writes the word into both
//! halves, of which a shift then takes the turned word. That is one or two instructions on Armv7-M
//! (`bfi`, `pkhbt`), and the shift comes free with the addition or XOR that follows. A `u16` takes
//! four.
//!
//! Between rounds both words of a branch are a [`Pair`]: a register less, and `mix` takes five
//! instructions.

#[cfg(all(target_arch = "arm", target_has_atomic = "32"))]
use crate::round::Branches;
use crate::{
    round::{Branch, Word16},
    round_keys::RoundKey,
};

#[derive(Clone, Copy)]
pub(crate) struct Wide(u32);

impl Word16 for Wide {
    type Key = u16;

    #[inline]
    fn splat(key: u16) -> Self {
        Self(key.into())
    }

    /// One load for both words.
    #[inline]
    fn splat_pair(&key: &RoundKey) -> Branch<Self> {
        unpack(keep(pair(key)))
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
        let turned = match count {
            // Each count by the shortest way of Armv7-M: one instruction for a byte swap or an
            // inserted field.
            8 => swap_bytes(self.0),
            9 => repeat_7(self.0) >> 7,
            // With the word in both halves, any 16 bits in a row are one of its rotations.
            _ => repeat(self.0).wrapping_shr(16_u32.wrapping_sub(count)),
        };
        Self(turned)
    }
}

/// Both words of a branch, or of a round key, in one number: `x` in its lower half.
pub(crate) type Pair = u32;

#[inline]
pub(crate) fn pair([x, y]: RoundKey) -> Pair {
    u32::from(y) << 16 | u32::from(x)
}

/// The branches of a block that was read as a little-endian number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes half of the block")]
pub(crate) fn load(block: u64) -> [Pair; 2] {
    [swap_bytes(block as u32), swap_bytes((block >> 32) as u32)]
}

/// The inverse of [`load`].
#[inline]
pub(crate) fn store([left, right]: [Pair; 2]) -> u64 {
    u64::from(swap_bytes(left)) | u64::from(swap_bytes(right)) << 32
}

/// [`block::load`](crate::block::load) for these words.
#[cfg(all(target_arch = "arm", target_has_atomic = "32"))]
#[inline]
pub(crate) fn load_words(block: u64) -> Branches<Wide> {
    let [left, right] = load(block);
    (unpack(left), unpack(right))
}

/// The inverse of [`load_words`].
#[cfg(all(target_arch = "arm", target_has_atomic = "32"))]
#[inline]
pub(crate) fn store_words((left, right): Branches<Wide>) -> u64 {
    // Else the compiler would merge this with what comes before.
    let keep = |(x, y): Branch<Wide>| pack((Wide(keep(x.0)), Wide(keep(y.0))));
    store([keep(left), keep(right)])
}

#[inline]
pub(crate) fn unpack(words: Pair) -> Branch<Wide> {
    (Wide(words), Wide(words >> 16))
}

#[inline]
pub(crate) fn pack((x, y): Branch<Wide>) -> Pair {
    // Only `x` needs a mask: the shift drops what is left over above `y`.
    y.0 << 16 | x.0 & 0xffff
}

/// [`round::mix`](crate::round::mix) of both words at once: `(x ^ y) <<< 8` is a byte of each.
#[inline]
pub(crate) fn mix(from: Pair, to: Pair) -> Pair {
    to ^ from ^ from.swap_bytes() ^ swap_bytes(from)
}

/// Swaps the two bytes of each half.
#[inline]
fn swap_bytes(words: u32) -> u32 {
    // ARM has an instruction for the two together, `rev16`.
    words.swap_bytes().rotate_left(16)
}

/// Copies the lower half into the upper one.
#[inline]
fn repeat(word: u32) -> u32 {
    keep(word << 16 | word & 0xffff)
}

/// The word, and above it its lowest 7 bits again: what the compiler knows as `bfi`. For a mask of
/// more than 8 bits it takes registers.
#[cfg(all(target_arch = "arm", target_has_atomic = "32"))]
#[inline]
fn repeat_7(word: u32) -> u32 {
    const ABOVE: u32 = 0x7f << 16;
    keep(word & !ABOVE | word << 16 & ABOVE)
}

#[cfg(not(all(target_arch = "arm", target_has_atomic = "32")))]
#[inline]
fn repeat_7(word: u32) -> u32 {
    repeat(word)
}

/// Returns the number unchanged, but opaque to the optimiser, which would otherwise rearrange what
/// leads to it.
#[cfg(all(any(target_arch = "arm", target_arch = "riscv32"), not(miri)))]
#[inline]
pub(crate) fn keep(mut number: u32) -> u32 {
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
pub(crate) fn keep(number: u32) -> u32 {
    number
}
