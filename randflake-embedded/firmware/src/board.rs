//! Differences between machines: entry point, reset and timer.

pub use machine::{address, count, interrupt_after, reset};
use randflake_embedded::randflake_core::{Randflake, Sparx64};
pub use semihosting::println;

/// The layout of which `generate` is interrupted.
pub type Preempted = Randflake;

pub fn permutation() -> Sparx64 {
    Sparx64::new(&[7; 16])
}

/// Ends the emulation with a result.
pub fn exit(failed: bool) -> ! {
    semihosting::process::exit(failed.into())
}

#[cfg(target_arch = "arm")]
mod machine {
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

    /// One interrupt, after so many cycles of the timer. Not inlined, so that none comes too soon
    /// for the call that follows.
    #[inline(never)]
    pub fn interrupt_after(ticks: u32) {
        // SAFETY: the timer is used here and in its interrupt, which does not come while it is
        // stopped.
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
}

#[cfg(target_arch = "riscv32")]
mod machine {
    //! QEMU's `virt`: the timer is the CLINT's, which counts 100 ns.

    use core::ptr::with_exposed_provenance_mut;

    use riscv::interrupt::Interrupt;
    use riscv::register::{mcause, mepc, mie, mstatus};
    use riscv_rt::{TrapFrame, core_interrupt, entry};

    #[entry]
    fn main() -> ! {
        crate::run()
    }

    pub fn address(function: extern "C" fn()) -> usize {
        function as *const () as usize
    }

    /// The default one loops.
    #[unsafe(no_mangle)]
    extern "C" fn ExceptionHandler(_: &TrapFrame) -> ! {
        panic!("{:?} at {:#x}", mcause::read().cause(), mepc::read())
    }

    /// Not after an interrupt was asked for: under `sleep=off` QEMU 7.2 would wait for it in the
    /// midst of the reset.
    pub fn reset() -> ! {
        const DEVICE: usize = 0x10_0000;
        const RESET: u32 = 0x7777;
        // SAFETY: it is the device of `hw/misc/sifive_test.c` of QEMU.
        unsafe { with_exposed_provenance_mut::<u32>(DEVICE).write_volatile(RESET) };
        panic!("no reset")
    }

    /// `mtimecmp` of hart 0 and `mtime`: `hw/riscv/virt.c` and `hw/intc/riscv_aclint.c` of QEMU.
    const DEADLINE: usize = 0x0200_4000;
    const TIME: usize = 0x0200_bff8;

    /// One interrupt, after so many ticks of the timer. Not inlined, so that none comes too soon
    /// for the call that follows.
    #[inline(never)]
    pub fn interrupt_after(ticks: u32) {
        set_deadline(u64::from(time()) + u64::from(ticks));
        // SAFETY: no critical section is open, and the only interrupt has its handler.
        unsafe {
            mie::set_mtimer();
            mstatus::set_mie();
        }
    }

    /// The timer's ticks since then.
    pub fn count() -> impl Fn() -> u32 {
        let begun = time();
        move || time() - begun
    }

    /// It is read for some minutes at most, so that its upper half stays 0.
    fn time() -> u32 {
        // SAFETY: the register is there for as long as the program.
        unsafe { with_exposed_provenance_mut::<u32>(TIME).read_volatile() }
    }

    fn set_deadline(deadline: u64) {
        // SAFETY: as above.
        unsafe { with_exposed_provenance_mut::<u64>(DEADLINE).write_volatile(deadline) };
    }

    #[core_interrupt(Interrupt::MachineTimer)]
    fn timer() {
        set_deadline(u64::MAX);
        crate::sweep::interrupt(mepc::read());
    }
}
