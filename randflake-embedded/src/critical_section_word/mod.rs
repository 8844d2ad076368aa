//! A shared word where the processor has no compare-and-swap.

#[cfg_attr(not(target_pointer_width = "16"), path = "whole.rs")]
#[cfg_attr(target_pointer_width = "16", path = "in_parts.rs")]
mod cell;

use cell::SharedCell;
use randflake_core::{AtomicWord, ConstWord};

/// A 32-bit word whose exchange runs in a critical section: for Cortex-M0, RISC-V without the `A`
/// extension, and AVR, where an interrupt may generate at any instruction of the main code.
///
/// Reading needs no critical section, as every 32-bit part loads a word at once (an AVR does not, and
/// has one there too); interrupts are masked only for one load, one comparison and one store. On a Cortex-M0,
/// with the single-core critical section of `cortex-m` 0.7, that is 6 or 7 instructions together with the one
/// that unmasks them; 5 more without link-time optimisation, which leaves its two functions to be called.
///
/// The program chooses the implementation of the critical section, usually through a feature of its
/// `cortex-m` or `riscv` crate. One that masks interrupts on one core only is wrong on a dual core.
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
    /// A word with a value; it can be a `static`.
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
    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        critical_section::with(|cs| {
            let found = self.0.get(cs);
            // Stored in any case, so that the compiler leaves the section at one place.
            self.0.set(cs, if found == current { new } else { found });
            found == current
        })
    }
}
