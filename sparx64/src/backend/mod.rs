//! Many blocks at once.
//!
//! `lanes` drives the one data path of [`round`](crate::round) over vectors of words. The platform
//! supplies the vectors, a file for each instruction set, and says which of them the running
//! processor has.

mod lanes;
mod portable;

#[cfg_attr(
    all(
        target_arch = "aarch64",
        target_feature = "neon",
        target_endian = "little"
    ),
    path = "neon.rs"
)]
#[cfg_attr(
    all(target_arch = "wasm32", target_feature = "simd128"),
    path = "simd128.rs"
)]
#[cfg_attr(
    all(
        target_arch = "x86_64",
        target_feature = "sse2",
        not(target_env = "sgx")
    ),
    path = "x86_64/mod.rs"
)]
mod platform;

use core::{fmt, slice};

use crate::{
    round::{Decrypt, Encrypt},
    schedule::Schedule,
};

/// One way to encrypt many blocks, which the running processor has.
///
/// [`encrypt_blocks`](crate::Sparx64::encrypt_blocks) takes the best by itself. This type is for
/// tests and benchmarks, which compare them, and for logs. All give the same blocks.
///
/// ```
/// use sparx64::{Backend, Sparx64};
///
/// let cipher = Sparx64::new(&[0x42; 16]);
/// for backend in Backend::available() {
///     let mut ids = [1, 2, 3];
///     cipher.encrypt_blocks_with(backend, &mut ids);
///     assert_eq!(ids, [1, 2, 3].map(|id| cipher.encrypt_u64(id)), "{backend}");
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Backend(&'static Implementation);

/// What a platform supplies. The functions are sound where the platform calls it available.
struct Implementation {
    name: &'static str,
    /// Fewer blocks take less time one by one: a pass costs the same however few of its lanes are
    /// in use.
    min_blocks: usize,
    encrypt: Run,
    decrypt: Run,
}

type Run = unsafe fn(&Schedule, &mut [[u8; 8]]);

impl Backend {
    /// The backends that the running processor has, the best first. The last is the scalar code.
    pub fn available() -> impl Iterator<Item = Self> {
        platform::available().iter().map(Self)
    }

    /// The first of the [available](Self::available) ones.
    #[must_use]
    pub fn best() -> Self {
        Self(platform::available().first().unwrap_or(&portable::PORTABLE))
    }

    /// `avx512`, `avx2`, `sse2`, `neon`, `simd128` or `portable`. Later versions may add names.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether the running processor has AVX2, and the operating system lets it be used: where a backend says so, other
    /// code that is compiled for AVX2 may be called.
    #[must_use]
    pub fn has_avx2(self) -> bool {
        matches!(self.0.name, "avx2" | "avx512")
    }

    pub(crate) fn encrypt(self, schedule: &Schedule, blocks: &mut [[u8; 8]]) {
        if blocks.len() < self.0.min_blocks {
            return portable::run::<Encrypt>(schedule, blocks);
        }
        #[expect(unsafe_code, reason = "the function needs processor features")]
        // SAFETY: backends come from `platform::available` alone.
        unsafe {
            (self.0.encrypt)(schedule, blocks);
        }
    }

    pub(crate) fn decrypt(self, schedule: &Schedule, blocks: &mut [[u8; 8]]) {
        if blocks.len() < self.0.min_blocks {
            return portable::run::<Decrypt>(schedule, blocks);
        }
        #[expect(unsafe_code, reason = "the function needs processor features")]
        // SAFETY: backends come from `platform::available` alone.
        unsafe {
            (self.0.decrypt)(schedule, blocks);
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&self.name()).finish()
    }
}

/// The [name](Self::name).
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The bytes of each number, as they lie in memory.
pub(crate) fn as_bytes(numbers: &mut [u64]) -> &mut [[u8; 8]] {
    let start = numbers.as_mut_ptr().cast();
    #[expect(unsafe_code, reason = "no safe function casts between slices")]
    // SAFETY: the same memory, borrowed for as long. Both types have 8 bytes, all of which may take
    // any value, and the new one needs the lesser alignment.
    unsafe {
        slice::from_raw_parts_mut(start, numbers.len())
    }
}
