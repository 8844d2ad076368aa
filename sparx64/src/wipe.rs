//! Wiping of key material that the compiler does not optimise away.

use core::{
    ptr,
    sync::atomic::{Ordering, compiler_fence},
};

/// Overwrites the words with zeros.
#[inline]
pub(crate) fn wipe(words: &mut [u16]) {
    for word in words {
        #[expect(
            unsafe_code,
            reason = "a plain store to memory that dies is removed as dead"
        )]
        // SAFETY: the pointer comes from a live exclusive reference, so it is valid and aligned.
        unsafe {
            ptr::write_volatile(word, 0);
        }
    }
    // Nothing that follows, such as freeing or reusing the memory, moves before the stores.
    compiler_fence(Ordering::SeqCst);
}
