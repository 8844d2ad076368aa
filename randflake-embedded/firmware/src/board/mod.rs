//! Differences between machines: entry point, reset and timer.

#[cfg_attr(target_arch = "arm", path = "cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "riscv.rs")]
mod machine;

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
