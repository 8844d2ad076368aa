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

#[cfg(fast_multiplier)]
use core::arch::asm;
use core::arch::naked_asm;

use crate::schedule::KeyState;
#[cfg(fast_multiplier)]
use crate::{
    round_keys::Schedule,
    wide::{keep, load, pair, store},
};

// Two set bits, 16 apart: the product has the word twice, so that a shift becomes a rotation.
#[cfg(fast_multiplier)]
const TURN_LEFT_2: u32 = 0x0001_0001 << 2;
#[cfg(fast_multiplier)]
const TURN_LEFT_9: u32 = 0x0001_0001 << 9;

/// The cipher with a key table.
///
/// The eight steps need seven registers, all that Rust leaves of those that most instructions
/// reach. The compiler keeps to them only where it is told which is which.
#[cfg(fast_multiplier)]
#[inline]
pub(crate) fn encrypt_with_table(schedule: &Schedule, block: u64) -> u64 {
    let [mut left, mut right] = load(block);
    // Else they are loaded anew in each step.
    let (turn_left_2, turn_left_9) = (keep(TURN_LEFT_2), keep(TURN_LEFT_9));
    let steps = schedule.steps.as_ptr_range();
    let mut step = steps.start;
    // A pointer and its end, not an index: the loads advance it for nothing.
    while step != steps.end {
        #[expect(unsafe_code, reason = "the compiler spills where it need not")]
        // SAFETY: reads the six round keys of a step, and leaves `step` at the next. They are
        // aligned to a word, since the schedule is, and its fields are whole words.
        unsafe {
            asm!(
                ".irp x, r2, r3",
                    "ldm r0!, {{r1}}",           // Both words of the first key.
                    "eors r1, \\x",
                    "uxth \\x, r1",              // From here a branch's words lie apart: y in r1.
                    "lsrs r1, r1, #16",
                    ".irp is_last, 0, 0, 1",
                        "lsls {t}, r1, #16",     // The ARX-box; then both words are upper halves.
                        "muls \\x, r4, \\x",
                        "adds \\x, \\x, {t}",
                        "muls r1, r5, r1",
                        "eors r1, \\x",
                        ".if \\is_last == 0",
                            "ldm r0!, {{{t}}}",  // The next key.
                            "eors r1, {t}",
                            "lsls {t}, {t}, #16",
                            "eors \\x, {t}",
                        ".endif",
                        "lsrs \\x, \\x, #16",
                        "lsrs r1, r1, #16",
                    ".endr",
                    "lsls r1, r1, #16",
                    "orrs \\x, r1",
                ".endr",
                "rev16 {t}, r2",                 // The linear layer, as `wide::mix`.
                "rev r1, r2",
                "eors {t}, r1",
                "eors {t}, r3",
                "mov r3, r2",
                "eors r2, {t}",
                t = out(reg) _,
                inout("r0") step,
                out("r1") _,
                inout("r2") left,
                inout("r3") right,
                in("r4") turn_left_9,
                in("r5") turn_left_2,
                options(pure, readonly, nostack),
            );
        }
    }
    let [left_key, right_key] = schedule.whitening;
    store([left ^ pair(left_key), right ^ pair(right_key)])
}

/// What [`turn!`] needs in r0 and r1. Before it 1 is in r1, and in the upper half of r7.
#[cfg(fast_multiplier)]
macro_rules! prepare_turns {
    () => {
        "orrs r1, r7
         lsls r0, r1, #9
         lsls r1, r1, #2"
    };
}

#[cfg(not(fast_multiplier))]
macro_rules! prepare_turns {
    () => {
        "movs r1, #30"
    };
}

/// Turns a word left by 9 and another one by 2, from the lower halves to the upper ones. `$upper`
/// is the latter in an upper half.
#[cfg(fast_multiplier)]
macro_rules! turn {
    ($x:literal, $y:literal, $upper:literal) => {
        concat!("muls ", $x, ", r0, ", $x, "\n", "muls ", $y, ", r1, ", $y)
    };
}

#[cfg(not(fast_multiplier))]
macro_rules! turn {
    ($x:literal, $y:literal, $upper:literal) => {
        concat!(
            "lsls r0, ",
            $x,
            ", #25\n",
            "lsls ",
            $x,
            ", ",
            $x,
            ", #9\n",
            "orrs ",
            $x,
            ", r0\n",
            "orrs ",
            $y,
            ", ",
            $upper,
            "\n", // In both halves.
            "rors ",
            $y,
            ", r1",
        )
    };
}

/// The ARX-box of two words, each alone in the lower half of its register: then it is in the upper
/// half of it, and the lower half is left over. r2 is lost.
macro_rules! arx_box {
    ($x:literal, $y:literal) => {
        concat!(
            "lsls r2, ",
            $y,
            ", #16\n",
            turn!($x, $y, "r2"),
            "\nadds ",
            $x,
            ", ",
            $x,
            ", r2\n",
            "eors ",
            $y,
            ", ",
            $x,
        )
    };
}

/// The cipher without a table of round keys.
///
/// A naked function: it needs all registers. `asm!` would leave it seven of those that most
/// instructions reach, and none of the others.
///
/// ```text
/// r0, r1   what turns words                 r8-r11  the key state, in pairs
/// r2-r6    words of a branch and of a key   r12     the other branch, a pair
/// r7       the branch's number, above       lr      1 in the upper half
/// ```
///
/// The compiler keeps the key state on the stack, where each access takes two cycles; a move from
/// r8 to r11 takes one. r7 is there for the shift that tells the left branch from the right one.
/// The key state is permuted while its pairs are at hand as round keys, so each is read once and
/// written once. Both jumps depend on the branch's number alone.
///
/// The stack holds what the caller has in r4 to r11, and `lr`; neither key nor block.
// SAFETY: as the ABI says. r0 is the key's address, aligned, of four words; the block is in r2 and
// r3, the result in r0 and r1. Nothing is written but the stack below `sp`; r4 to r11 are restored.
#[unsafe(naked)]
pub(crate) extern "C" fn encrypt_on_the_fly(key: &KeyState, block: u64) -> u64 {
    naked_asm!(
        // `push` and `pop` reach only r0 to r7 and lr on Armv6-M: the upper registers go through
        // the lower ones.
        "push {{r4-r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4-r7}}",
        "ldm r0!, {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        // The branch number and the 1 that is added to it stand in upper halves, so that the
        // addition to the last pair needs no shift.
        "movs r1, #1",
        "lsls r7, r1, #16",
        "mov lr, r7",
        prepare_turns!(),
        "rev16 r2, r2",
        "mov r12, r2",
        "rev16 r5, r3",
        "2:", // To the other branch, from the one in r5.
        "mov r2, r12",
        "mov r12, r5",
        "3:", // One branch, in r2. The first key; then x is in r5, y in r6.
        "mov r3, r8",
        "eors r2, r3",
        "lsrs r6, r2, #16",
        "uxth r5, r2",
        "uxth r4, r3", // That key's own ARX-box: x in r4, y in the upper half of r3.
        "lsrs r3, r3, #16",
        arx_box!("r4", "r3"),
        "lsrs r4, r4, #16",
        "lsrs r3, r3, #16",
        "lsls r3, r3, #16",
        arx_box!("r5", "r6"),
        "mov r2, r9", // The second key. To its words those of the first one are added.
        "eors r6, r2",
        "adds r2, r2, r3",
        "orrs r3, r4",
        "mov r9, r3",
        "lsls r3, r2, #16",
        "eors r5, r3",
        "adds r4, r4, r2", // Of this only the lower half: it may have carried.
        "eors r4, r2",
        "uxth r4, r4",
        "eors r2, r4",
        "lsrs r5, r5, #16",
        "lsrs r6, r6, #16",
        "mov r3, r10", // The third key.
        "mov r10, r2",
        arx_box!("r5", "r6"),
        "eors r6, r3",
        "lsls r2, r3, #16",
        "eors r5, r2",
        "lsrs r5, r5, #16",
        "lsrs r6, r6, #16",
        "add r11, r7", // The number is added to the last pair, which is then the first.
        "mov r8, r11",
        "mov r11, r3",
        arx_box!("r5", "r6"),
        "lsrs r5, r5, #16", // The branch as a pair, in r5.
        "lsrs r6, r6, #16",
        "lsls r6, r6, #16",
        "orrs r5, r6",
        // Two branches make a step: an odd number means that the other branch is next, 8 that all
        // steps are done.
        "lsrs r3, r7, #17", // Half of the number; an odd one carries.
        "add r7, lr",
        "bcs 2b",
        "mov r6, r12", // The linear layer, as `wide::mix`.
        "rev16 r2, r6",
        "eors r2, r6",
        "rev r6, r6",
        "eors r2, r6",
        "eors r2, r5",
        "cmp r3, #8",
        "bne 3b",
        "mov r0, r8", // The whitening.
        "eors r0, r2",
        "rev16 r0, r0",
        "mov r1, r12",
        "mov r2, r9",
        "eors r1, r2",
        "rev16 r1, r1",
        "pop {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r4-r7, pc}}",
    )
}
