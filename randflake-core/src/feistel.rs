//! A permutation of the numbers of 53 bits, which JavaScript and JSON hold exactly.

use core::fmt::{self, Debug, Formatter};

use crate::{Field, Permutation, Sparx64};

/// Rounds of the network. FF1 has 10, for which less is proven: docs/security.md has the figures.
/// Even, so that both halves are where they began.
const ROUNDS: u32 = 26;
/// Position of the round's number in the input of the round function, above the widest half.
const ROUND_SHIFT: u32 = 27;
/// Blocks that are encrypted together: a few passes of the widest vectors, and few enough for the
/// stack of a microcontroller.
const AT_ONCE: usize = if usize::BITS < 64 { 32 } else { 256 };

/// A keyed permutation of the 53-bit numbers: an alternating Feistel network of 26 and 27 bits with
/// [`Sparx64`].
///
/// The structure is that of FF1 (NIST SP 800-38G) in base 2, with 26 rounds instead of 10. It is
/// not FF1: the round function is the low bits of one SPARX-64/128 block instead of a chain of AES
/// blocks, and there is no tweak. The repository's `docs/security.md` says what is proven of it,
/// and up to how many ids.
///
/// **Its key is a key of its own**, never that of 64-bit ids: both encrypt blocks under it.
/// `randflake-std` derives it from a secret (`Secret::feistel53`).
///
/// The eleven bits above are kept as they are, so that this is a permutation of all 64-bit numbers.
/// They would show a part of the time: [`Generator::new`](crate::Generator::new) refuses a layout
/// that uses them.
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
/// In bit operations, for another language; `sparx` takes and returns the number whose
/// little-endian bytes are the block:
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
    /// Takes the cipher of the round function: a [`Sparx64`], or a
    /// [`Sparx64OnTheFly`](crate::Sparx64OnTheFly) for the same numbers with 16 bytes of memory.
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

/// The network over a left half of `LEFT` bits and a right one of `RIGHT`: other widths than 26 and
/// 27 are for tests, which look at all their numbers.
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

    /// The use of the cipher, in the upper half of each block: networks of other widths or rounds
    /// have other functions.
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

    /// The rounds by twos, so that shifts are by constants: 32-bit processors call a function for
    /// others.
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

#[cfg(test)]
mod tests {
    extern crate std;

    use core::array;
    use std::vec;
    use std::vec::Vec;

    use super::{Feistel53, Network};
    use crate::{Permutation, Sparx64, Sparx64OnTheFly};

    const KEY: [u8; 16] = *b"sixteen byte key";

    /// All numbers of a network become all numbers, and come back.
    fn check_bijection<const LEFT: u32, const RIGHT: u32>() {
        let network = Network::<LEFT, RIGHT, _> {
            cipher: Sparx64::new(&KEY),
        };
        let count = 1 << LEFT << RIGHT;
        let mut ids: Vec<u64> = (0..count).collect();
        network.permute_all(&mut ids);
        let mut is_taken = vec![false; ids.len()];
        for (raw, id) in (0..).zip(&ids) {
            let place = usize::try_from(*id).unwrap();
            assert!(!is_taken[place], "{id} twice");
            is_taken[place] = true;
            if raw % 64 == 0 {
                assert_eq!(network.permute(raw), *id);
                assert_eq!(network.invert(*id), raw);
            }
        }
        network.invert_all(&mut ids);
        assert!((0..count).eq(ids));
    }

    #[test]
    #[cfg_attr(miri, ignore = "hundreds of thousands of blocks")]
    fn all_numbers_of_13_bits() {
        check_bijection::<6, 7>();
    }

    // The wider half on the left, and halves of one width: nothing depends on which is wider.
    #[test]
    #[cfg_attr(miri, ignore = "thousands of blocks")]
    fn all_numbers_of_other_halves() {
        check_bijection::<4, 3>();
        check_bijection::<2, 2>();
        check_bijection::<1, 2>();
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of blocks")]
    fn all_numbers_of_19_bits() {
        check_bijection::<9, 10>();
    }

    /// FF1 as its standard writes it: halves that change places, and a modulus for each.
    #[test]
    #[expect(clippy::many_single_char_names, reason = "the standard's names")]
    fn the_structure_is_that_of_ff1() {
        let cipher = Sparx64::new(&KEY);
        let numbers = Feistel53::new(cipher.clone());
        let (u, v) = (26, 27);
        let raws = [0x0f_1234_5678_9abc, 0, 1, (1 << 53) - 1, 1 << 27, 1 << 26];
        let some = if cfg!(miri) { 1 } else { raws.len() };
        for raw in raws.into_iter().take(some) {
            let [mut a, mut b] = [raw / 2_u64.pow(27), raw % 2_u64.pow(27)];
            for i in 0..26_u64 {
                let m = if i % 2 == 0 { u } else { v };
                let p = u64::from_be_bytes([b'F', 26, 26, 27, 0, 0, 0, 0]) + i * 2_u64.pow(27) + b;
                let y = cipher.encrypt_u64(p) % 2_u64.pow(32);
                let c = (a + y) % 2_u64.pow(m);
                a = b;
                b = c;
            }
            assert_eq!(numbers.permute(raw), a * 2_u64.pow(27) + b);
        }
    }

    #[test]
    fn all_ways_to_compute_it_agree() {
        let numbers = Feistel53::new(Sparx64::new(&KEY));
        let small = Feistel53::new(Sparx64OnTheFly::new(&KEY));
        let raws: [u64; 77] =
            array::from_fn(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11);
        // An interpreter takes seconds for each id. What it could find is in the cipher, whose own
        // batches it runs.
        let lens: &[usize] = if cfg!(miri) {
            &[2]
        } else {
            &[0, 1, 31, 32, 33, 64, 77]
        };
        for &len in lens {
            let mut ids = raws;
            numbers.permute_all(&mut ids[..len]);
            for (raw, id) in raws.iter().zip(&ids[..len]) {
                assert!(*id < 1 << 53);
                assert_eq!(numbers.permute(*raw), *id);
                assert_eq!(small.permute(*raw), *id);
                assert_eq!(numbers.invert(*id), *raw);
                assert_eq!(small.invert(*id), *raw);
            }
            numbers.invert_all(&mut ids[..len]);
            assert_eq!(ids, raws);
        }
    }

    #[test]
    fn bits_above_are_kept() {
        let numbers = Feistel53::new(Sparx64::new(&KEY));
        let above = 0x7ff << 53;
        assert_eq!(numbers.permute(above | 0x42), above | numbers.permute(0x42));
        assert_eq!(numbers.invert(above | 0x42), above | numbers.invert(0x42));
    }
}
