//! Wipes key material in a way that the compiler does not optimise away.

use core::{
    ptr,
    sync::atomic::{Ordering, compiler_fence},
};

/// Overwrites the words with the default, which is zero.
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
