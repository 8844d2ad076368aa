//! The word that the main code and interrupts share.

#[cfg(target_has_atomic = "32")]
pub(crate) use core::sync::atomic::AtomicU32 as Word;

#[cfg(not(target_has_atomic = "32"))]
pub(crate) use masked::Word;
use randflake_core::AtomicWord;

pub(crate) fn load(word: &Word) -> u32 {
    AtomicWord::load(word)
}

/// Stores a value; the last of concurrent stores wins. By exchange, as a word has no other way to
/// write.
pub(crate) fn store(word: &Word, value: u32) {
    while !AtomicWord::compare_exchange(word, load(word), value) {}
}

#[cfg(not(target_has_atomic = "32"))]
mod masked {
    //! Word of processors without compare-and-swap: interrupts are masked by two functions that the
    //! program may replace.

    use core::arch::global_asm;
    use core::sync::atomic::{AtomicU32, Ordering};

    use randflake_core::AtomicWord;

    unsafe extern "C" {
        safe fn rf_critical_enter() -> u32;
        safe fn rf_critical_leave(state: u32);
    }

    /// As `CriticalSectionWord` of `randflake-embedded`, but by C's functions.
    #[repr(transparent)]
    pub(crate) struct Word(AtomicU32);

    impl AtomicWord for Word {
        type Value = u32;

        fn new(value: u32) -> Self {
            Self(AtomicU32::new(value))
        }

        #[inline]
        fn load(&self) -> u32 {
            self.0.load(Ordering::Acquire)
        }

        // Not inlined, as it is called from many places. Entering and leaving the section orders
        // what is around it; inside, the order among single loads and stores of one word is that of
        // the program.
        #[inline(never)]
        fn compare_exchange(&self, current: u32, new: u32) -> bool {
            let state = rf_critical_enter();
            let found = self.0.load(Ordering::Relaxed);
            if found == current {
                self.0.store(new, Ordering::Relaxed);
            }
            rf_critical_leave(state);
            found == current
        }
    }

    // Weak, so that a program's own functions take their place.
    #[cfg(target_arch = "arm")]
    global_asm!(
        ".section .text.rf_critical_enter, \"ax\", %progbits",
        ".weak rf_critical_enter",
        ".type rf_critical_enter, %function",
        ".thumb_func",
        "rf_critical_enter:",
        "mrs r0, primask",
        "cpsid i",
        "bx lr",
        ".size rf_critical_enter, . - rf_critical_enter",
        ".section .text.rf_critical_leave, \"ax\", %progbits",
        ".weak rf_critical_leave",
        ".type rf_critical_leave, %function",
        ".thumb_func",
        "rf_critical_leave:",
        "msr primask, r0",
        "bx lr",
        ".size rf_critical_leave, . - rf_critical_leave",
        ".text",
    );

    #[cfg(target_arch = "riscv32")]
    global_asm!(
        ".section .text.rf_critical_enter, \"ax\", @progbits",
        ".weak rf_critical_enter",
        ".type rf_critical_enter, @function",
        "rf_critical_enter:",
        // The bit `MIE` alone, so that nothing else is restored.
        "csrrci a0, mstatus, 8",
        "andi a0, a0, 8",
        "ret",
        ".size rf_critical_enter, . - rf_critical_enter",
        ".section .text.rf_critical_leave, \"ax\", @progbits",
        ".weak rf_critical_leave",
        ".type rf_critical_leave, @function",
        "rf_critical_leave:",
        "csrs mstatus, a0",
        "ret",
        ".size rf_critical_leave, . - rf_critical_leave",
        ".text",
    );
}
