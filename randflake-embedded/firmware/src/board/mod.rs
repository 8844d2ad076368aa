//! What differs between machines: where a program begins, the reset, and the timer.

#[cfg_attr(target_arch = "arm", path = "cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "riscv.rs")]
mod machine;

pub use machine::{interrupt_after, reset};
