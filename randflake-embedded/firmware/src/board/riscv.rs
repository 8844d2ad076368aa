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

/// Not after an interrupt was asked for: under `sleep=off` QEMU 7.2 would wait for it in the midst
/// of the reset.
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

/// One interrupt, after so many ticks of the timer. Not inlined, so that none comes too soon for
/// the call that follows.
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
