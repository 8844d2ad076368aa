//! The cipher with a key table. See the module above for the words.
//!
//! The eight steps need seven registers, all that Rust leaves of those that most instructions
//! reach. The compiler keeps to them only where it is told which is which.

use core::arch::asm;

use crate::{
    schedule::Schedule,
    wide::{keep, load, pair, store},
};

// Two set bits, 16 apart: the product has the word twice, so that a shift becomes a rotation.
const TURN_LEFT_2: u32 = 0x0001_0001 << 2;
const TURN_LEFT_9: u32 = 0x0001_0001 << 9;

#[inline]
pub(crate) fn encrypt(schedule: &Schedule, block: u64) -> u64 {
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
