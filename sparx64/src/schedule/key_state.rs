//! The state of the key schedule, from which the round keys are taken.

use super::RoundKey;
use crate::{
    round::{arx_box, arx_box_inverse},
    wipe,
};

/// At first the key: eight 16-bit words, in pairs. Aligned, so that a pair may be loaded at once.
// An AVR loads bytes, and its compiler relies on an alignment that it does not give to what is on the stack:
// <https://github.com/llvm/llvm-project/issues/169190>.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
pub(crate) struct KeyState([RoundKey; 4]);

impl KeyState {
    pub(crate) const fn new(key: &[u8; 16]) -> Self {
        // An iterator is no part of a const fn.
        let mut state = [[0; 2]; 4];
        let (words, _) = key.as_chunks();
        let mut i = 0;
        while i < words.len() {
            state.as_flattened_mut()[i] = u16::from_be_bytes(words[i]);
            i = i.wrapping_add(1);
        }
        Self(state)
    }

    /// The keys of a branch's three rounds.
    #[inline]
    pub(crate) fn of_branch(&self) -> &[RoundKey; 3] {
        let [keys @ .., _] = &self.0;
        keys
    }

    /// After the last permutation, the keys of the final whitening.
    #[inline]
    pub(crate) fn of_whitening(&self) -> &[RoundKey; 2] {
        let [keys @ .., _, _] = &self.0;
        keys
    }

    /// `K_4` of SPARX-64/128 (`K_perm_64_128` in the designers' code): mixes the first half of the key
    /// state, adds the number of the branch, counted from 1, and turns the state by two words.
    #[inline]
    pub(crate) fn permute(&mut self, number: u16) {
        let [[a_x, a_y], [b_x, b_y], c, [d_x, d_y]] = self.0;
        let (a_x, a_y) = arx_box((a_x, a_y));
        let b = [b_x.wrapping_add(a_x), b_y.wrapping_add(a_y)];
        self.0 = [[d_x, d_y.wrapping_add(number)], [a_x, a_y], b, c];
    }

    #[inline]
    pub(crate) fn permute_inverse(&mut self, number: u16) {
        let [[d_x, d_y], [a_x, a_y], [b_x, b_y], c] = self.0;
        let b = [b_x.wrapping_sub(a_x), b_y.wrapping_sub(a_y)];
        let (a_x, a_y) = arx_box_inverse((a_x, a_y));
        self.0 = [[a_x, a_y], b, c, [d_x, d_y.wrapping_sub(number)]];
    }

    pub(crate) fn wipe(&mut self) {
        wipe::wipe(self.0.as_flattened_mut());
    }

    /// Lets the compiler know nothing of the state that it does not find in memory.
    ///
    /// Small processors have too few registers for it, and the compiler would carry it over from round
    /// to round all the same, through other places on the stack: 40 bytes more code on a Cortex-M0.
    #[cfg(all(any(target_arch = "arm", target_arch = "riscv32"), not(miri)))]
    #[inline]
    pub(crate) fn keep_in_memory(&mut self) {
        let state: *mut Self = self;
        #[expect(unsafe_code, reason = "`black_box` takes instructions")]
        // SAFETY: no instruction at all, only a comment.
        unsafe {
            core::arch::asm!("/* {0} */", in(reg) state, options(nostack, preserves_flags));
        }
    }

    #[cfg(not(all(any(target_arch = "arm", target_arch = "riscv32"), not(miri))))]
    #[inline]
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn keep_in_memory(&mut self) {}
}
