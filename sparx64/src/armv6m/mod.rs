//! Encryption on Armv6-M, which shifts and cleans a 16-bit word apart: a rotation takes it four
//! instructions, or one multiplication by a number with two bits set, after which the turned word
//! is the upper half of a register. The lower half is then left over, and nothing carries out of
//! it, since what is added has none.
//!
//! How long a multiplication takes does not depend on the numbers. It takes one cycle, or 32 if the
//! manufacturer chose Arm's small multiplier, as [NXP] did for the Cortex-M0 of the `LPC43xx` and
//! the Cortex-M0+ of the `LPC5410x`. A block multiplies 96 times with a key table, 128 times on the
//! fly: 2,976 and 3,968 cycles more there. With `--cfg sparx64_small_multiplier` nothing
//! multiplies.
//!
//! [NXP]: https://community.nxp.com/t5/LPCXpresso-IDE-FAQs/Use-of-Cortex-M0-M0-multiply-instructions-on-LPC43xx-and/m-p/461571

pub(crate) mod on_the_fly;
#[cfg(fast_multiplier)]
pub(crate) mod table;
