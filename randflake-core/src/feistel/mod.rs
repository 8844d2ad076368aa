//! A permutation of the numbers of 53 bits, which JavaScript and JSON hold exactly.

use core::fmt::{self, Debug, Formatter};

use crate::{Field, Permutation, Sparx64};

#[cfg(test)]
mod tests;

/// Rounds of the network. FF1 has 10, for which less is proven: docs/security.md has the figures. Even, so that both
/// halves are where they began.
const ROUNDS: u32 = 26;
/// Position of the round's number in the input of the round function, above the widest half.
const ROUND_SHIFT: u32 = 27;
/// Blocks that are encrypted together: a few passes of the widest vectors, and few enough for the stack of a microcontroller.
const AT_ONCE: usize = if usize::BITS < 64 { 32 } else { 256 };

/// A keyed permutation of the 53-bit numbers: an alternating Feistel network of 26 and 27 bits with [`Sparx64`].
///
/// The structure is that of FF1 (NIST SP 800-38G) in base 2, with 26 rounds instead of 10. It is not FF1: the round function is
/// the low bits of one SPARX-64/128 block instead of a chain of AES blocks, and there is no tweak. The repository's
/// `docs/security.md` says what is proven of it, and up to how many ids.
///
/// **Its key is a key of its own**, never that of 64-bit ids: both encrypt blocks under it. `randflake-std` derives it
/// from a secret (`Secret::feistel53`).
///
/// The eleven bits above are kept as they are, so that this is a permutation of all 64-bit numbers. They would show a part of
/// the time: [`Generator::new`](crate::Generator::new) refuses a layout that uses them.
///
/// ```
/// use randflake_core::{Feistel53, Permutation, Sparx64};
///
/// let numbers = Feistel53::new(Sparx64::new(&[7; 16]));
/// let id = numbers.permute(42);
/// assert!(id < 1 << 53);
/// assert_eq!(numbers.invert(id), 42);
/// ```
///
/// In bit operations, for another language; `sparx` takes and returns the number whose little-endian bytes are the block:
///
/// ```
/// # use randflake_core::{Feistel53, Permutation, Sparx64};
/// # let key = [7; 16];
/// # let raw = 0x1f_edcb_a987_6543;
/// let sparx = Sparx64::new(&key);
/// let [mut left, mut right] = [raw >> 27, raw & (1 << 27) - 1];
/// for round in 0..26 {
///     // Four bytes of the use: "F", 26 rounds, 26 and 27 bits.
///     let block = |half| 0x461a_1a1b << 32 | round << 27 | half;
///     if round % 2 == 0 {
///         left = (left + sparx.encrypt_u64(block(right))) & (1 << 26) - 1;
///     } else {
///         right = (right + sparx.encrypt_u64(block(left))) & (1 << 27) - 1;
///     }
/// #   left &= (1 << 26) - 1;
/// }
/// assert_eq!(Feistel53::new(sparx).permute(raw), left << 27 | right);
/// ```
#[derive(Clone)]
pub struct Feistel53<C = Sparx64>(Network<26, 27, C>);

impl<C: Permutation> Feistel53<C> {
    /// Takes the cipher of the round function: a [`Sparx64`], or a [`Sparx64OnTheFly`](crate::Sparx64OnTheFly) for the same
    /// numbers with 16 bytes of memory.
    #[must_use]
    pub const fn new(cipher: C) -> Self {
        Self(Network { cipher })
    }
}

/// Shows the name and nothing of the key.
impl<C> Debug for Feistel53<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feistel53").finish_non_exhaustive()
    }
}

impl<C: Permutation> Permutation for Feistel53<C> {
    fn bits(&self) -> u32 {
        53
    }

    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        self.0.permute(raw)
    }

    fn permute_all(&self, ids: &mut [u64]) {
        self.0.permute_all(ids);
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        self.0.invert(public)
    }

    fn invert_all(&self, ids: &mut [u64]) {
        self.0.invert_all(ids);
    }
}

/// The network over a left half of `LEFT` bits and a right one of `RIGHT`: other widths than 26 and 27 are for tests, which
/// look at all their numbers.
#[derive(Clone)]
struct Network<const LEFT: u32, const RIGHT: u32, C> {
    cipher: C,
}

impl<const LEFT: u32, const RIGHT: u32, C: Permutation> Network<LEFT, RIGHT, C> {
    const LEFT_HALF: Field = Field {
        bits: LEFT,
        shift: RIGHT,
    };
    const RIGHT_HALF: Field = Field {
        bits: RIGHT,
        shift: 0,
    };

    /// The use of the cipher, in the upper half of each block: networks of other widths or rounds have other functions.
    const TAG: u64 = {
        assert!(
            LEFT <= ROUND_SHIFT && RIGHT <= ROUND_SHIFT && ROUNDS <= 1 << (32 - ROUND_SHIFT),
            "round and half share 32 bits"
        );
        // At most 32 each.
        (b'F' as u64) << 56 | (ROUNDS as u64) << 48 | (LEFT as u64) << 40 | (RIGHT as u64) << 32
    };

    /// The half that a round changes, and the half that it reads.
    const fn halves(round: u32) -> (Field, Field) {
        if round.is_multiple_of(2) {
            (Self::LEFT_HALF, Self::RIGHT_HALF)
        } else {
            (Self::RIGHT_HALF, Self::LEFT_HALF)
        }
    }

    /// The input of a round's function.
    const fn block(round: u32, id: u64) -> u64 {
        let (_, read) = Self::halves(round);
        Self::TAG | (round as u64) << ROUND_SHIFT | read.extract(id)
    }

    /// Adds what the function gave to the half that the round changes, modulo the half's width.
    const fn add(round: u32, id: u64, output: u64) -> u64 {
        let (changed, _) = Self::halves(round);
        let sum = id.wrapping_add(changed.place(output));
        (id & !changed.mask()) | (sum & changed.mask())
    }

    const fn subtract(round: u32, id: u64, output: u64) -> u64 {
        let (changed, _) = Self::halves(round);
        let difference = id.wrapping_sub(changed.place(output));
        (id & !changed.mask()) | (difference & changed.mask())
    }

    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        let step = |id, round| Self::add(round, id, self.cipher.permute(Self::block(round, id)));
        Self::pairs().fold(raw, |id, [even, odd]| step(step(id, even), odd))
    }

    /// The rounds by twos, so that shifts are by constants: 32-bit processors call a function for others.
    fn pairs() -> impl DoubleEndedIterator<Item = [u32; 2]> {
        (0..ROUNDS / 2).map(|pair| [pair << 1, (pair << 1) | 1])
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        // The function is computed forwards here, too: only the half goes back.
        let step =
            |id, round| Self::subtract(round, id, self.cipher.permute(Self::block(round, id)));
        Self::pairs()
            .rev()
            .fold(public, |id, [even, odd]| step(step(id, odd), even))
    }

    fn permute_all(&self, ids: &mut [u64]) {
        self.run_all(&(0..ROUNDS), Self::add, ids);
    }

    fn invert_all(&self, ids: &mut [u64]) {
        self.run_all(&(0..ROUNDS).rev(), Self::subtract, ids);
    }

    /// Each round for many numbers, whose blocks are encrypted together.
    fn run_all(
        &self,
        rounds: &(impl Iterator<Item = u32> + Clone),
        step: impl Fn(u32, u64, u64) -> u64,
        ids: &mut [u64],
    ) {
        let mut buffer = [0; AT_ONCE];
        for ids in ids.chunks_mut(AT_ONCE) {
            let blocks = buffer.get_mut(..ids.len()).unwrap_or_default();
            for round in rounds.clone() {
                for (block, id) in blocks.iter_mut().zip(&*ids) {
                    *block = Self::block(round, *id);
                }
                self.cipher.permute_all(blocks);
                for (id, output) in ids.iter_mut().zip(&*blocks) {
                    *id = step(round, *id, *output);
                }
            }
        }
    }
}
