//! Key schedule: expands 128 bits of key into 50 round keys.

use core::iter::zip;
use core::mem::{self, MaybeUninit};

use crate::round::{Word16, arx_box, arx_box_inverse};
use crate::round_keys::{RoundKey, Schedule, wipe};
use crate::wide::{Pair, pack, unpack};

/// Uninitialised memory for a schedule.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
#[repr(C)]
// 8 steps of 6 round keys, and 2 for the whitening.
struct UninitKeys([MaybeUninit<RoundKey>; 50]);

impl Schedule {
    #[inline]
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        let mut place = UninitKeys([MaybeUninit::uninit(); 50]);
        expand(key, &mut place);
        #[expect(unsafe_code, reason = "to clear it before is a call of `memset`")]
        // SAFETY: both are 50 round keys, of which `expand` has written each.
        unsafe {
            mem::transmute::<UninitKeys, Self>(place)
        }
    }
}

/// Three quarters of the key state are the keys of a branch's three rounds; then the state is
/// permuted for the next branch. What is left of it are the keys of the whitening.
///
/// Not inlined, and of C's calling convention, which does not unwind, so that the compiler may pass
/// the caller's place: else the table is made on the stack, copied from there, and not wiped.
#[inline(never)]
extern "C" fn expand(key: &[u8; 16], UninitKeys(round_keys): &mut UninitKeys) {
    let mut state = KeyState::new(key);
    // 50 is 16 times 3, so the two keys of the whitening are what remains.
    let (branches, whitening) = round_keys.as_chunks_mut::<3>();
    for (branch, number) in zip(branches, 1..) {
        write(branch, state.of_branch());
        state.permute(number);
    }
    write(whitening, &state.of_whitening());
    // The final state determines the whole key, as the permutation is invertible.
    state.wipe();
}

fn write(places: &mut [MaybeUninit<RoundKey>], keys: &[Pair]) {
    for (place, key) in zip(places, keys) {
        place.write(words(*key));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes each half")]
fn words(pair: Pair) -> RoundKey {
    [pair as u16, (pair >> 16) as u16]
}

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

    /// `K_4` of SPARX-64/128 (`K_perm_64_128` in the designers' code): mixes the first half of the
    /// key state, adds the number of the branch, counted from 1, and turns the state by two words.
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
        // The permutation has turned the pairs by one: they are taken in the turned order and put
        // back.
        let [d, a, b, c] = self.0;
        let a = unpack(a);
        let (b_x, b_y) = unpack(b);
        let b = (b_x.sub(a.0), b_y.sub(a.1));
        let a = arx_box_inverse(a);
        self.0 = [pack(a), pack(b), c, d.wrapping_sub(upper(number))];
    }

    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.0);
    }

    /// Lets the compiler know nothing of the state that it does not find in memory.
    ///
    /// Armv6-M has too few registers for it, and the compiler would carry it over from round to
    /// round all the same, through other places on the stack: 52 bytes more code on a Cortex-M0.
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
