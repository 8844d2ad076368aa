//! The key schedule.

use core::iter::zip;

use crate::{round::arx_box, wipe::wipe};

/// The key of one round of one branch.
pub(crate) type RoundKey<K = u16> = [K; 2];

/// The keys of one step: three rounds of the left branch, three of the right one.
type StepKeys<K> = [[RoundKey<K>; 3]; 2];

/// All round keys, in the order of their use: 8 steps, then the final whitening. Each word of key
/// is a `u16`, or what a [`Word`](crate::round::Word) of several blocks makes of it.
#[derive(Clone)]
pub(crate) struct Schedule<K: Copy + Default = u16> {
    pub(crate) steps: [StepKeys<K>; 8],
    pub(crate) whitening: [RoundKey<K>; 2],
}

impl Schedule {
    /// Three quarters of the key state are the keys of a branch's three rounds; then the state is
    /// permuted for the next branch.
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        let mut state = [[0; 2]; 4];
        for (word, bytes) in zip(state.as_flattened_mut(), key.as_chunks().0) {
            *word = u16::from_be_bytes(*bytes);
        }
        let mut schedule = Self::zero();
        for (branch, number) in zip(schedule.steps.as_flattened_mut(), 1..) {
            [branch[0], branch[1], branch[2], _] = state;
            permute(&mut state, number);
        }
        [schedule.whitening[0], schedule.whitening[1], ..] = state;
        wipe(state.as_flattened_mut());
        schedule
    }
}

/// `K_4` of SPARX-64/128 (`K_perm_64_128` in the designers' code): mixes the first half of the key
/// state, adds the number of the branch, counted from 1, and turns the state by two words.
fn permute(state: &mut [RoundKey; 4], number: u16) {
    let [[a_x, a_y], [b_x, b_y], c, [d_x, d_y]] = *state;
    let (a_x, a_y) = arx_box((a_x, a_y));
    let b = [b_x.wrapping_add(a_x), b_y.wrapping_add(a_y)];
    *state = [[d_x, d_y.wrapping_add(number)], [a_x, a_y], b, c];
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
