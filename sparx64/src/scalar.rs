//! Keeps a single block out of vector registers.
//!
//! A build for a processor with AVX-512 (`-C target-cpu=native`) makes the compiler pack the two
//! branches of one block into a vector. That is fewer instructions, but each round waits longer: a
//! block took 68 ns instead of 32. Blocks gain from vectors only side by side.

/// Returns the word unchanged, but opaque to the optimiser.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
pub(crate) fn keep(mut word: u16) -> u16 {
    #[expect(unsafe_code, reason = "`black_box` goes through memory: 30 % slower")]
    // SAFETY: no instruction at all, only a comment.
    unsafe {
        core::arch::asm!(
            "/* {0:x} */",
            inout(reg) word,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    word
}

/// On other targets the compiler does not vectorise a single block; and Miri has no assembler.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
pub(crate) fn keep(word: u16) -> u16 {
    word
}
