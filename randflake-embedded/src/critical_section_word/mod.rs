//! Shared word for processors without compare-and-swap.

// A 16-bit processor loads 32 bits in several instructions, and an interrupt may come between them.
// So there loads are in a critical section too.
#[cfg_attr(not(target_pointer_width = "16"), path = "whole.rs")]
#[cfg_attr(target_pointer_width = "16", path = "in_parts.rs")]
mod cell;

use cell::SharedCell;
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
