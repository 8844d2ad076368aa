//! State of the key schedule, from which the round keys are taken.

use crate::{
    round::{Word16, arx_box, arx_box_inverse},
    wide::{Pair, pack, unpack},
    wipe,
};

/// Eight 16-bit words in pairs; at first they are the key itself.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct KeyState([Pair; 4]);

impl KeyState {
    pub(crate) const fn new(key: &[u8; 16]) -> Self {
        // An iterator is no part of a const fn.
        let mut state = [0; 4];
        let (pairs, _) = key.as_chunks();
        let mut i = 0;
        while i < pairs.len() {
            // Read big-endian, the first word is the upper half; a pair has it in the lower.
            state[i] = u32::from_be_bytes(pairs[i]).rotate_left(16);
            i = i.wrapping_add(1);
        }
        Self(state)
    }

    /// The keys of a branch's three rounds.
    #[inline]
    pub(crate) fn of_branch(&self) -> &[Pair; 3] {
        let [keys @ .., _] = &self.0;
        keys
    }

    /// After the last permutation, the keys of the final whitening.
    #[inline]
    pub(crate) fn of_whitening(&self) -> [Pair; 2] {
        let [left, right, _, _] = self.0;
        [left, right]
    }

    /// `K_4` of SPARX-64/128 (`K_perm_64_128` in the designers' code): mixes the first half of the key
    /// state, adds the number of the branch, counted from 1, and turns the state by two words.
    #[inline]
    pub(crate) fn permute(&mut self, number: u16) {
        let [a, b, c, d] = self.0;
        let a = arx_box(unpack(a));
        let (b_x, b_y) = unpack(b);
        let b = (b_x.add(a.0), b_y.add(a.1));
        // The number is added to the upper word of the pair, so the carry falls out of the
        // register: words are added modulo 2^16.
        self.0 = [d.wrapping_add(upper(number)), pack(a), pack(b), c];
    }

    #[inline]
    pub(crate) fn permute_inverse(&mut self, number: u16) {
        // The permutation has turned the pairs by one: they are taken in the turned order and put back.
        let [d, a, b, c] = self.0;
        let a = unpack(a);
        let (b_x, b_y) = unpack(b);
        let b = (b_x.sub(a.0), b_y.sub(a.1));
        let a = arx_box_inverse(a);
        self.0 = [pack(a), pack(b), c, d.wrapping_sub(upper(number))];
    }

    pub(crate) fn wipe(&mut self) {
        wipe::wipe(&mut self.0);
    }

    /// Lets the compiler know nothing of the state that it does not find in memory.
    ///
    /// Armv6-M has too few registers for it, and the compiler would carry it over from round to round all
    /// the same, through other places on the stack: 52 bytes more code on a Cortex-M0.
    #[cfg(all(target_arch = "arm", not(target_has_atomic = "32"), not(miri)))]
    #[inline]
    pub(crate) fn keep_in_memory(&mut self) {
        let state: *mut Self = self;
        #[expect(unsafe_code, reason = "`black_box` takes instructions")]
        // SAFETY: no instruction at all, only a comment.
        unsafe {
            core::arch::asm!("/* {0} */", in(reg) state, options(nostack, preserves_flags));
        }
    }

    #[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"), not(miri))))]
    #[inline]
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn keep_in_memory(&mut self) {}
}

/// A word in the upper half of a pair.
#[inline]
fn upper(word: u16) -> Pair {
    Pair::from(word) << 16
}
