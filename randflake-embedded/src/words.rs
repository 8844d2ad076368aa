//! Words that the main code and interrupts share, for processors without compare-and-swap.

use cell::SharedCell;
#[cfg(feature = "portable-atomic")]
pub use portable::PortableWord;
use randflake_core::{AtomicWord, ConstWord};

/// An atomic 32-bit word whose compare-and-exchange runs in a critical section: for Cortex-M0,
/// RISC-V without the `A` extension, and AVR.
///
/// Loads need no critical section where 32 bits are read in one instruction; on AVR they have one
/// too. Interrupts are masked for one load, one comparison and one store. On a Cortex-M0 with the
/// single-core critical section of `cortex-m` 0.7 that is 6 or 7 instructions including the one
/// that unmasks them, and 5 more without link-time optimisation, which leaves two function calls.
///
/// The program chooses the critical section, usually by a feature of its `cortex-m` or `riscv`
/// crate. A critical section that masks interrupts on one core only is wrong on a dual core.
///
/// ```
/// use randflake_core::{AtomicWord, Generator, Lease, ManualClock, Randflake, Sparx64};
/// use randflake_embedded::CriticalSectionWord;
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let cipher = Sparx64::new(&[7; 16]);
/// let generator = Generator::<Randflake, CriticalSectionWord, _>::new(lease, &clock, cipher)?;
/// assert_ne!(generator.generate()?, generator.generate()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CriticalSectionWord(SharedCell);

impl CriticalSectionWord {
    /// Creates a word with a value; `const`, so it can be a `static`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(SharedCell::new(value))
    }
}

impl ConstWord for CriticalSectionWord {
    const ZERO: Self = Self::new(0);
}

impl AtomicWord for CriticalSectionWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        self.0.load()
    }

    #[inline]
    fn load_relaxed(&self) -> u32 {
        self.0.load_relaxed()
    }

    #[inline]
    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        critical_section::with(|cs| {
            // One step for interrupts, and for other cores as far as the program's critical section
            // locks them.
            let found = self.0.get(cs);
            // Stored in any case, so that there is a single exit, and the compiler emits the code
            // that leaves the section once.
            self.0.set(cs, if found == current { new } else { found });
            found == current
        })
    }
}

// A 16-bit processor loads 32 bits in several instructions, and an interrupt may come between them.
// So there loads are in a critical section too.
#[cfg(target_pointer_width = "16")]
mod cell {
    //! Cell for processors that load and store 32 bits in parts (AVR).

    use core::cell::Cell;

    use critical_section::{CriticalSection, Mutex};

    #[derive(Debug)]
    pub(super) struct SharedCell(Mutex<Cell<u32>>);

    impl SharedCell {
        pub(super) const fn new(value: u32) -> Self {
            Self(Mutex::new(Cell::new(value)))
        }

        #[inline]
        pub(super) fn load(&self) -> u32 {
            // Without it an interrupt between two bytes would leave a value that was never stored.
            critical_section::with(|cs| self.get(cs))
        }

        #[inline]
        pub(super) fn load_relaxed(&self) -> u32 {
            self.load()
        }

        #[inline]
        pub(super) fn get(&self, cs: CriticalSection<'_>) -> u32 {
            self.0.borrow(cs).get()
        }

        #[inline]
        pub(super) fn set(&self, cs: CriticalSection<'_>, value: u32) {
            self.0.borrow(cs).set(value);
        }
    }
}

#[cfg(not(target_pointer_width = "16"))]
mod cell {
    //! Cell for processors that load and store 32 bits in one instruction.

    use core::sync::atomic::{AtomicU32, Ordering};

    use critical_section::CriticalSection;

    #[derive(Debug)]
    pub(super) struct SharedCell(AtomicU32);

    impl SharedCell {
        pub(super) const fn new(value: u32) -> Self {
            Self(AtomicU32::new(value))
        }

        #[inline]
        pub(super) fn load(&self) -> u32 {
            self.0.load(Ordering::Acquire)
        }

        #[inline]
        pub(super) fn load_relaxed(&self) -> u32 {
            self.0.load(Ordering::Relaxed)
        }

        // Relaxed is enough inside a critical section: entering and leaving it orders the accesses
        // around it.

        #[inline]
        pub(super) fn get(&self, _: CriticalSection<'_>) -> u32 {
            self.0.load(Ordering::Relaxed)
        }

        #[inline]
        pub(super) fn set(&self, _: CriticalSection<'_>, value: u32) {
            self.0.store(value, Ordering::Relaxed);
        }
    }
}

#[cfg(feature = "portable-atomic")]
mod portable {
    //! Shared word over `portable-atomic`.

    use portable_atomic::{AtomicU32, Ordering};
    use randflake_core::{AtomicWord, ConstWord};

    /// An atomic 32-bit word over `portable-atomic`: native where the processor has
    /// compare-and-swap, else by the method that the *program* selects.
    ///
    /// The program selects it by the feature `critical-section` or `unsafe-assume-single-core` of
    /// `portable-atomic`, or by `--cfg portable_atomic_unsafe_assume_single_core`. This crate never
    /// does; without a choice it does not compile for a processor without compare-and-swap. (An AVR
    /// needs the feature `fallback` too.) `critical-section` works with any implementation; the
    /// other is smaller, and unsound unless the program has one core and runs privileged.
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
            // Pairs with the release of the exchange that wrote the value, as `AtomicWord` asks
            // for.
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
}
