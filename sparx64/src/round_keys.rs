//! The table of round keys, which is wiped when it is dropped.

use core::{
    ptr,
    sync::atomic::{Ordering, compiler_fence},
};

/// The key of one round of one branch.
pub(crate) type RoundKey<K = u16> = [K; 2];

/// The keys of one step: three rounds of the left branch, three of the right one.
type StepKeys<K> = [[RoundKey<K>; 3]; 2];

/// All round keys, in the order of their use: 8 steps, then the final whitening. Each word of key
/// is a `u16`, or what a [`Word16`](crate::round::Word16) of several blocks makes of it. `repr(C)`:
/// a place is filled in this order. Aligned, so that both words of a round key may be loaded at
/// once.
// An AVR loads bytes, and its compiler relies on an alignment that it does not give to what is on
// the stack:
// <https://github.com/llvm/llvm-project/issues/169190>.
#[derive(Clone)]
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
#[repr(C)]
pub(crate) struct Schedule<K: Copy + Default = u16> {
    pub(crate) steps: [StepKeys<K>; 8],
    pub(crate) whitening: [RoundKey<K>; 2],
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

/// Overwrites the words with the default, which is zero, in a way that the compiler does not
/// optimise away.
#[inline]
pub(crate) fn wipe<K: Copy + Default>(words: &mut [K]) {
    for word in words {
        #[expect(
            unsafe_code,
            reason = "a plain store to memory that dies is removed as dead"
        )]
        // SAFETY: the pointer comes from a live exclusive reference, so it is valid and aligned.
        unsafe {
            ptr::write_volatile(word, K::default());
        }
    }
    // Nothing that follows, such as freeing or reusing the memory, moves before the stores.
    compiler_fence(Ordering::SeqCst);
}
