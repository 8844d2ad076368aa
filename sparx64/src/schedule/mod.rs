//! The key schedule.

mod key_state;

use core::iter::zip;

pub(crate) use key_state::KeyState;

use crate::{wide::Pair, wipe::wipe};

/// The key of one round of one branch.
pub(crate) type RoundKey<K = u16> = [K; 2];

/// The keys of one step: three rounds of the left branch, three of the right one.
type StepKeys<K> = [[RoundKey<K>; 3]; 2];

/// All round keys, in the order of their use: 8 steps, then the final whitening. Each word of key
/// is a `u16`, or what a [`Word`](crate::round::Word) of several blocks makes of it.
/// Aligned, so that both words of a round key may be loaded at once.
// An AVR loads bytes, and its compiler relies on an alignment that it does not give to what is on the stack:
// <https://github.com/llvm/llvm-project/issues/169190>.
#[derive(Clone)]
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
pub(crate) struct Schedule<K: Copy + Default = u16> {
    pub(crate) steps: [StepKeys<K>; 8],
    pub(crate) whitening: [RoundKey<K>; 2],
}

impl Schedule {
    /// Three quarters of the key state are the keys of a branch's three rounds; then the state is
    /// permuted for the next branch.
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        let mut state = KeyState::new(key);
        let mut schedule = Self::zero();
        for (branch, number) in zip(schedule.steps.as_flattened_mut(), 1..) {
            *branch = state.of_branch().map(words);
            state.permute(number);
        }
        schedule.whitening = state.of_whitening().map(words);
        state.wipe();
        schedule
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes each half")]
fn words(pair: Pair) -> RoundKey {
    [pair as u16, (pair >> 16) as u16]
}

impl<K: Copy + Default> Schedule<K> {
    pub(crate) fn zero() -> Self {
        Self {
            steps: [[[[K::default(); 2]; 3]; 2]; 8],
            whitening: [[K::default(); 2]; 2],
        }
    }
}

impl<K: Copy + Default> Drop for Schedule<K> {
    fn drop(&mut self) {
        wipe(
            self.steps
                .as_flattened_mut()
                .as_flattened_mut()
                .as_flattened_mut(),
        );
        wipe(self.whitening.as_flattened_mut());
    }
}
