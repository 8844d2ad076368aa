//! Encryption and decryption of many blocks at once.
//!
//! `lanes` drives the one data path of [`round`](crate::round) over vectors of words. The platform
//! supplies the vectors, a file for each instruction set, and says which of them the running
//! processor has.

mod lanes;

#[cfg_attr(
    all(
        target_arch = "aarch64",
        target_feature = "neon",
        // Big-endian targets would read the bytes as words of their own order, and `load` swaps
        // them.
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
        // An enclave may not execute CPUID, by which the instruction sets are found.
        not(target_env = "sgx")
    ),
    path = "x86_64/mod.rs"
)]
mod platform;

use core::fmt;

use crate::{
    round::{Decrypt, Encrypt},
    round_keys::Schedule,
};
use lanes::{Implementation, PORTABLE, run_portable};

/// An implementation of bulk encryption that the running processor can execute.
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

impl Backend {
    /// The backends that the running processor can execute, fastest first. The last is always the
    /// portable one.
    pub fn available() -> impl Iterator<Item = Self> {
        platform::available().iter().map(Self)
    }

    /// The fastest of the [available](Self::available) backends.
    #[must_use]
    pub fn best() -> Self {
        // The list is never empty; the fallback only saves a panic path.
        Self(platform::available().first().unwrap_or(&PORTABLE))
    }

    /// Name of the backend: `avx512`, `avx2`, `sse2`, `neon`, `simd128` or `portable`. Later
    /// versions may add names.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub(crate) fn encrypt(self, schedule: &Schedule, blocks: &mut [[u8; 8]]) {
        if blocks.len() < self.0.min_blocks {
            return run_portable::<Encrypt>(schedule, blocks);
        }
        #[expect(unsafe_code, reason = "the function needs processor features")]
        // SAFETY: backends come from `platform::available` alone.
        unsafe {
            (self.0.encrypt)(schedule, blocks);
        }
    }

    pub(crate) fn decrypt(self, schedule: &Schedule, blocks: &mut [[u8; 8]]) {
        if blocks.len() < self.0.min_blocks {
            return run_portable::<Decrypt>(schedule, blocks);
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

/// Writes the [name](Self::name) of the backend.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
