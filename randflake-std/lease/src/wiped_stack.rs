//! Work with secrets that leaves none of them on the stack.
//!
//! Values that move, and functions of other crates, leave copies in frames that have returned.
//! Nobody wipes these: they stay until other calls happen to overwrite them.

use core::hint::black_box;

/// More than anything here takes: hashing by HKDF, and a cipher's table that is moved a few times.
const LEN: usize = 16 * 1024;

/// Runs what has secrets in its frames, then overwrites these. What it returns must not be secret
/// itself: a box, for instance.
pub(crate) fn wiped_after<T>(run: impl FnOnce() -> T) -> T {
    let result = in_own_frame(run);
    overwrite();
    result
}

/// Not inlined: else its frame would be a part of the caller's, which is not overwritten.
#[inline(never)]
fn in_own_frame<T>(run: impl FnOnce() -> T) -> T {
    run()
}

/// Takes the same place as the frames before.
#[inline(never)]
fn overwrite() {
    // Somebody may read it, as far as the compiler knows: so it writes all of the zeros.
    black_box(&mut [0_u64; LEN / 8]);
}
