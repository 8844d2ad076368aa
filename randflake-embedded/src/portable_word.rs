//! Shared word over `portable-atomic`.

use portable_atomic::{AtomicU32, Ordering};
use randflake_core::{AtomicWord, ConstWord};

/// An atomic 32-bit word over `portable-atomic`: native where the processor has compare-and-swap,
/// else by the method that the *program* selects.
///
/// The program selects it by the feature `critical-section` or `unsafe-assume-single-core` of
/// `portable-atomic`, or by `--cfg portable_atomic_unsafe_assume_single_core`. This crate never
/// does; without a choice it does not compile for a processor without compare-and-swap. (An AVR
/// needs the feature `fallback` too.) `critical-section` works with any implementation; the other
/// is smaller, and unsound unless the program has one core and runs privileged.
///
/// ```
/// use randflake_core::{AtomicWord, Generator, Lease, ManualClock, Randflake, Sparx64};
/// use randflake_embedded::PortableWord;
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let cipher = Sparx64::new(&[7; 16]);
/// let generator = Generator::<Randflake, PortableWord, _>::new(lease, &clock, cipher)?;
/// assert_ne!(generator.generate()?, generator.generate()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PortableWord(AtomicU32);

impl PortableWord {
    /// Creates a word with a value; `const`, so it can be a `static`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
}

impl ConstWord for PortableWord {
    const ZERO: Self = Self::new(0);
}

impl AtomicWord for PortableWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        // Pairs with the release of the exchange that wrote the value, as `AtomicWord` asks for.
        self.0.load(Ordering::Acquire)
    }

    #[inline]
    fn load_relaxed(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        self.0
            // Relaxed on failure: the caller loads again before it retries.
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}
