//! Key schedule: expands 128 bits of key into 50 round keys.

mod key_state;

use core::{
    iter::zip,
    mem::{self, MaybeUninit},
};

pub(crate) use key_state::KeyState;

use crate::{wide::Pair, wipe::wipe};

/// The key of one round of one branch.
pub(crate) type RoundKey<K = u16> = [K; 2];

/// The keys of one step: three rounds of the left branch, three of the right one.
type StepKeys<K> = [[RoundKey<K>; 3]; 2];

/// All round keys, in the order of their use: 8 steps, then the final whitening. Each word of key
/// is a `u16`, or what a [`Word16`](crate::round::Word16) of several blocks makes of it. `repr(C)`: a place is filled in
/// this order.
/// Aligned, so that both words of a round key may be loaded at once.
// An AVR loads bytes, and its compiler relies on an alignment that it does not give to what is on the stack:
// <https://github.com/llvm/llvm-project/issues/169190>.
#[derive(Clone)]
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
#[repr(C)]
pub(crate) struct Schedule<K: Copy + Default = u16> {
    pub(crate) steps: [StepKeys<K>; 8],
    pub(crate) whitening: [RoundKey<K>; 2],
}

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

/// Three quarters of the key state are the keys of a branch's three rounds; then the state is permuted for the next
/// branch. What is left of it are the keys of the whitening.
///
/// Not inlined, and of C's calling convention, which does not unwind, so that the compiler may pass the caller's place: else
/// the table is made on the stack, copied from there, and not wiped.
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
