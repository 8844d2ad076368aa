//! The premise of the tests of preemption: with delays of 1, 2, 3 … ticks an interrupt comes at
//! every instruction.

use core::arch::asm;
use core::fmt::{self, Display};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::board;
use crate::suite::Suite;

const INSTRUCTIONS: usize = 256;
const MAX_TICKS: u32 = 1_499;

/// Where the last interrupt came; 0 before there was one.
static AT: AtomicUsize = AtomicUsize::new(0);

pub fn run(suite: &mut Suite) {
    let missed = missed();
    suite.check(
        "timer_comes_at_every_instruction",
        if missed.0 == 0 {
            Ok(missed)
        } else {
            Err(missed)
        },
    );
}

pub fn interrupt(address: usize) {
    AT.store(address, Ordering::Relaxed);
}

/// Of so many instructions in a row.
struct Missed(usize);

impl Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {INSTRUCTIONS} instructions missed", self.0)
    }
}

fn missed() -> Missed {
    let begin = board::address(straight_on);
    let mut was_hit = [false; INSTRUCTIONS];
    for ticks in 1..=MAX_TICKS {
        AT.store(0, Ordering::Relaxed);
        board::interrupt_after(ticks);
        straight_on();
        while AT.load(Ordering::Relaxed) == 0 {
            spin_loop();
        }
        let at = AT.load(Ordering::Relaxed).wrapping_sub(begin) / 2;
        if let Some(hit) = was_hit.get_mut(at) {
            *hit = true;
        }
    }
    Missed(was_hit.iter().filter(|&&hit| !hit).count())
}

/// Instructions of two bytes, each run once.
#[inline(never)]
extern "C" fn straight_on() {
    // SAFETY: it does nothing.
    unsafe { asm!(".rept {n}", "nop", ".endr", n = const INSTRUCTIONS) };
}
