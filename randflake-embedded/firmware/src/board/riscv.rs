//! QEMU's `virt`: the timer is the CLINT's, which counts 100 ns.

use core::ptr::with_exposed_provenance_mut;

use riscv::interrupt::Interrupt;
use riscv::register::{mepc, mie, mstatus};
use riscv_rt::{core_interrupt, entry};

use crate::suite::Suite;

#[entry]
fn main() -> ! {
    set_deadline(u64::MAX);
    // SAFETY: no critical section is open, and the only interrupt has its handler.
    unsafe {
        mie::set_mtimer();
        mstatus::set_mie();
    }
    crate::run(Suite::default())
}

/// `mtimecmp` of hart 0 and `mtime`: `hw/riscv/virt.c` and `hw/intc/riscv_aclint.c` of QEMU.
const DEADLINE: usize = 0x0200_4000;
const TIME: usize = 0x0200_bff8;

/// One interrupt, after so many ticks of the timer. Not inlined, so that none comes too soon for the call that follows.
#[inline(never)]
pub fn interrupt_after(ticks: u32) {
    // SAFETY: the register is there for as long as the program. It is read for some minutes at most, so that its
    // upper half stays 0.
    let now = unsafe { with_exposed_provenance_mut::<u32>(TIME).read_volatile() };
    set_deadline(u64::from(now) + u64::from(ticks));
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
