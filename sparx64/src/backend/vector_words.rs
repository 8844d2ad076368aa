//! The vectors of platforms whose instructions come with target features. A platform that needs it
//! has this file as a module.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::round_keys::Schedule;

/// Makes a type of words from a vector and functions on it that all need one target feature. The
/// functions `splat`, `rotate_left`, `gather` and `scatter` stand beside the call.
///
/// The methods of a trait cannot ask for a target feature: this is the one place where `unsafe`
/// vouches for it. The type must therefore stay inside functions that have the feature.
macro_rules! vector_words {
    ($name:ident = [$key:ty; $blocks:literal] in $vector:ty; $xor:path, $add:path, $sub:path) => {
        type Blocks = [[u8; 8]; $blocks];
        type Vectors = [$vector; 4];

        #[derive(Clone, Copy)]
        struct $name($vector);

        impl Word16 for $name {
            type Key = $key;

            #[inline(always)]
            fn splat(key: $key) -> Self {
                // SAFETY: the caller has the target feature: see the macro.
                Self(unsafe { splat(key) })
            }

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[inline(always)]
            fn read_anew(schedule: &Schedule<$key>) -> &Schedule<$key> {
                super::vector_words::read_anew(schedule)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: the caller has the target feature: see the macro.
                Self(unsafe { $xor(self.0, other.0) })
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: the caller has the target feature: see the macro.
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: the caller has the target feature: see the macro.
                Self(unsafe { $sub(self.0, other.0) })
            }

            #[inline(always)]
            fn rotate_left(self, count: u32) -> Self {
                // SAFETY: the caller has the target feature: see the macro.
                Self(unsafe { rotate_left(self.0, count) })
            }
        }

        impl Lanes<$blocks> for $name {
            #[inline(always)]
            fn load(blocks: &Blocks) -> Branches<Self> {
                // SAFETY: any bytes are vectors; the compiler compares the sizes.
                let vectors = unsafe { mem::transmute::<Blocks, Vectors>(*blocks) };
                // SAFETY: the caller has the target feature: see the macro.
                let [a, b, c, d] = unsafe { gather(vectors) };
                ((Self(a), Self(b)), (Self(c), Self(d)))
            }

            #[inline(always)]
            fn store(((a, b), (c, d)): Branches<Self>, blocks: &mut Blocks) {
                // SAFETY: the caller has the target feature: see the macro.
                let vectors = unsafe { scatter([a.0, b.0, c.0, d.0]) };
                // SAFETY: any bytes are blocks; the compiler compares the sizes.
                *blocks = unsafe { mem::transmute::<Vectors, Blocks>(vectors) };
            }
        }
    };
}
pub(super) use vector_words;

/// The same schedule, of which the compiler knows nothing any more: see `Word16::read_anew`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(
    clippy::inline_always,
    clippy::pointers_in_nomem_asm_block,
    reason = "it is one comment, and has no instruction that could follow the pointer"
)]
#[inline(always)]
pub(super) fn read_anew<K: Copy + Default>(schedule: &Schedule<K>) -> &Schedule<K> {
    let mut place: *const Schedule<K> = schedule;
    #[expect(unsafe_code, reason = "`black_box` goes through memory")]
    // SAFETY: no instruction at all, only a comment.
    unsafe {
        core::arch::asm!(
            "/* {0} */",
            inout(reg) place,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: it is the reference's own address, borrowed for as long.
    unsafe {
        &*place
    }
}
