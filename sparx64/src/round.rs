//! The data path: ARX-box, linear layer, and the cipher made of them, each beside its inverse.
//!
//! Source: Dinu et al., "Design Strategies for ARX with Provable Bounds: SPARX and LAX", ASIACRYPT
//! 2016; the designers' code is `cryptolu/SPARX: ref-c/sparx.c`, commit b795aa6. A block is two
//! branches of two 16-bit words. One of the eight steps, with the paper's letters:
//!
//! ```text
//!       left x y         right x y        A: x = (x >>> 7) + y
//!          │                 │               y = (y <<< 2) ^ x
//!      3 × (key, A)      3 × (key, A)
//!          ├───── L ────────>⊕            L: t = (x ^ y) <<< 8
//!          └──────╲ ╱────────┘               (x ^ t, y ^ t)
//!          ┌──────╱ ╲────────┐
//! ```
//!
//! After the last step the whole block is whitened with four words of key.
//!
//! There is one data path: a [`Word16`] is a `u16`, or a vector of the same word of many blocks.
#![expect(
    clippy::inline_always,
    reason = "vector code must end up inside a function that has the target feature"
)]

use core::iter::zip;

use crate::round_keys::{RoundKey, Schedule};

/// One 16-bit word of a block, or the same word of several blocks. Arithmetic is modulo 2^16.
pub(crate) trait Word16: Copy {
    /// How one word of the key schedule is held for these words.
    type Key: Copy + Default;

    /// The key in each word.
    fn splat(key: Self::Key) -> Self;
    /// Both keys of a round, each in each word.
    #[inline(always)]
    fn splat_pair(key: &RoundKey<Self::Key>) -> Branch<Self> {
        (Self::splat(key[0]), Self::splat(key[1]))
    }
    /// The same schedule. Vectors have the compiler forget what it knows of it: else it keeps keys
    /// for a later use, in vectors that it spills to the stack, where nobody wipes them.
    #[inline(always)]
    fn read_anew(schedule: &Schedule<Self::Key>) -> &Schedule<Self::Key> {
        schedule
    }
    fn xor(self, other: Self) -> Self;
    /// `xor` by another name: where a scalar word tells the compiler to stay with scalars.
    #[inline(always)]
    fn add_key(self, key: Self) -> Self {
        self.xor(key)
    }
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// `count` is a constant among 2, 7, 8, 9 and 14.
    fn rotate_left(self, count: u32) -> Self;
}

impl Word16 for u16 {
    type Key = Self;

    #[inline(always)]
    fn splat(key: Self) -> Self {
        key
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn add_key(self, key: Self) -> Self {
        // Opaque to the optimiser, which would otherwise vectorise a single block.
        keep(self ^ key)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn rotate_left(self, count: u32) -> Self {
        self.rotate_left(count)
    }
}

/// Returns the word unchanged, but opaque to the optimiser: keeps a single block out of vector
/// registers.
///
/// A build for a processor with AVX-512 (`-C target-cpu=native`) makes the compiler pack the two
/// branches of one block into a vector. That is fewer instructions, but each round waits longer: a
/// block took 68 ns instead of 32. Blocks gain from vectors only side by side.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn keep(mut word: u16) -> u16 {
    #[expect(unsafe_code, reason = "`black_box` goes through memory: 30 % slower")]
    // SAFETY: no instruction at all, only a comment.
    unsafe {
        core::arch::asm!(
            "/* {0:x} */",
            inout(reg) word,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    word
}

/// On other targets the compiler does not vectorise a single block; and Miri has no assembler.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn keep(word: u16) -> u16 {
    word
}

/// Half of a block. A pair and not an array, which the compiler would keep as one number of which
/// it shifts the words out.
pub(crate) type Branch<W> = (W, W);

/// A block: its left branch and its right one.
pub(crate) type Branches<W> = (Branch<W>, Branch<W>);

/// The ARX-box `A`: a round of SPECK-32, less its key.
#[inline(always)]
pub(crate) fn arx_box<W: Word16>((x, y): Branch<W>) -> Branch<W> {
    // The paper's `>>> 7` is `<<< 9` in 16 bits.
    let x = x.rotate_left(9).add(y);
    (x, y.rotate_left(2).xor(x))
}

#[inline(always)]
pub(crate) fn arx_box_inverse<W: Word16>((x, y): Branch<W>) -> Branch<W> {
    // `<<< 14` undoes `<<< 2`, and `<<< 7` undoes the `>>> 7` of the paper.
    let y = y.xor(x).rotate_left(14);
    (x.sub(y).rotate_left(7), y)
}

#[inline(always)]
pub(crate) fn add_key<W: Word16>((x, y): Branch<W>, (key_x, key_y): Branch<W>) -> Branch<W> {
    (x.add_key(key_x), y.add_key(key_y))
}

/// `L_2`: a Feistel round, then the exchange of branches.
#[inline(always)]
fn linear_layer<W: Word16>((left, right): Branches<W>) -> Branches<W> {
    (mix(left, right), left)
}

#[inline(always)]
fn linear_layer_inverse<W: Word16>((left, right): Branches<W>) -> Branches<W> {
    (right, mix(right, left))
}

/// Adds `L(from)` to `to`: its own inverse.
#[inline(always)]
pub(crate) fn mix<W: Word16>((x, y): Branch<W>, (to_x, to_y): Branch<W>) -> Branch<W> {
    let t = x.xor(y).rotate_left(8);
    (x.xor(t).xor(to_x), y.xor(t).xor(to_y))
}

#[inline(always)]
pub(crate) fn whiten<W: Word16>(
    (left, right): Branches<W>,
    (left_key, right_key): Branches<W>,
) -> Branches<W> {
    (add_key(left, left_key), add_key(right, right_key))
}

/// Encryption or decryption, as a type parameter: the data path is compiled once for each.
pub(crate) trait Direction {
    /// Takes `N` states through all rounds, side by side: each round key is loaded once for all of
    /// them, and the processor fills the latency of one with the work of the others.
    fn apply<W: Word16, const N: usize>(
        schedule: &Schedule<W::Key>,
        states: [Branches<W>; N],
    ) -> [Branches<W>; N];
}

pub(crate) struct Encrypt;

impl Direction for Encrypt {
    #[inline(always)]
    fn apply<W: Word16, const N: usize>(
        schedule: &Schedule<W::Key>,
        mut states: [Branches<W>; N],
    ) -> [Branches<W>; N] {
        for [left_keys, right_keys] in &schedule.steps {
            for (left_key, right_key) in zip(left_keys, right_keys) {
                let (left_key, right_key) = (W::splat_pair(left_key), W::splat_pair(right_key));
                for (left, right) in &mut states {
                    *left = arx_box(add_key(*left, left_key));
                    *right = arx_box(add_key(*right, right_key));
                }
            }
            for state in &mut states {
                *state = linear_layer(*state);
            }
        }
        for state in &mut states {
            // With AVX2 a key would wait on the stack while the state before is stored.
            let [left_key, right_key] = &W::read_anew(schedule).whitening;
            let key = (W::splat_pair(left_key), W::splat_pair(right_key));
            *state = whiten(*state, key);
        }
        states
    }
}

pub(crate) struct Decrypt;

impl Direction for Decrypt {
    #[inline(always)]
    fn apply<W: Word16, const N: usize>(
        schedule: &Schedule<W::Key>,
        mut states: [Branches<W>; N],
    ) -> [Branches<W>; N] {
        let key = (
            W::splat_pair(&schedule.whitening[0]),
            W::splat_pair(&schedule.whitening[1]),
        );
        for state in &mut states {
            // The key is added by XOR, so the same function takes it away.
            *state = whiten(*state, key);
        }
        for [left_keys, right_keys] in schedule.steps.iter().rev() {
            for state in &mut states {
                *state = linear_layer_inverse(*state);
            }
            for (left_key, right_key) in zip(left_keys, right_keys).rev() {
                let (left_key, right_key) = (W::splat_pair(left_key), W::splat_pair(right_key));
                for (left, right) in &mut states {
                    // The instructions come out in this order. With one branch after the other a
                    // single block took 10 % longer.
                    (*left, *right) = (arx_box_inverse(*left), arx_box_inverse(*right));
                    (*left, *right) = (add_key(*left, left_key), add_key(*right, right_key));
                }
            }
        }
        states
    }
}
