//! Cortex-M: the timer is `SysTick`, which counts the processor's clock.

use core::arch::naked_asm;
use core::hint::spin_loop;

use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::{ExceptionFrame, entry, exception};

#[entry]
fn main() -> ! {
    crate::run()
}

pub fn reset() -> ! {
    SCB::sys_reset()
}

pub fn address(function: extern "C" fn()) -> usize {
    // The lowest bit says that the code is Thumb.
    function as *const () as usize & !1
}

/// The default one loops.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("{frame:?}")
}

const ENABLE: u32 = 1 << 0;
const INTERRUPT: u32 = 1 << 1;
const PROCESSOR_CLOCK: u32 = 1 << 2;

fn control() -> &'static cortex_m::peripheral::syst::RegisterBlock {
    // SAFETY: the registers are there for as long as the program, and all of them are volatile
    // cells.
    unsafe { &*SYST::PTR }
}

/// One interrupt, after so many cycles of the timer. Not inlined, so that none comes too soon for
/// the call that follows.
#[inline(never)]
pub fn interrupt_after(ticks: u32) {
    // SAFETY: the timer is used here and in its interrupt, which does not come while it is stopped.
    unsafe {
        control().csr.write(0);
        control().rvr.write(ticks);
        control().cvr.write(0);
        control().csr.write(ENABLE | INTERRUPT | PROCESSOR_CLOCK);
    }
}

/// The timer's cycles since then, for the first 2^24 of them.
pub fn count() -> impl Fn() -> u32 {
    const MOST: u32 = (1 << 24) - 1;
    // SAFETY: no interrupt is asked for.
    unsafe {
        control().rvr.write(MOST);
        control().cvr.write(0);
        control().csr.write(ENABLE | PROCESSOR_CLOCK);
    }
    // Until the first cycle, of which it is loaded.
    while control().cvr.read() == 0 {
        spin_loop();
    }
    || MOST - control().cvr.read()
}

/// Hands on where the program was: the processor has put that on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn SysTick() {
    naked_asm!(
        "mrs r0, msp",
        "ldr r0, [r0, #24]",
        "ldr r1, 1f",
        "bx r1",
        ".balign 4",
        "1: .word {handler}",
        handler = sym timer,
    )
}

extern "C" fn timer(address: usize) {
    // SAFETY: as above.
    unsafe { control().csr.write(0) };
    crate::sweep::interrupt(address);
}
