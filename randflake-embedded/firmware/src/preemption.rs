//! An interrupt at every instruction of `generate`, which generates too: no id comes twice, and
//! nothing waits for ever.

use core::cell::UnsafeCell;
use core::time::Duration;

use randflake_embedded::randflake_core::{
    AtomicWord, Clock, Codec, GenerateError, Generator, Lane, Lease, UnixClock,
};
use randflake_embedded::{CriticalSectionWord, PortableWord, Prefetch};

use crate::board::{Preempted as L, permutation};
use crate::suite::Suite;
use crate::suite::{EPOCH, Shown};
use crate::sweep::Sweep;

pub fn run(suite: &mut Suite) {
    if let Some(sweep) = native() {
        suite.check("preempted_native_word", sweep.judge(false));
    }
    suite.check(
        "preempted_critical_section_word",
        word::<CriticalSectionWord>().judge(false),
    );
    suite.check(
        "preempted_portable_word",
        word::<PortableWord>().judge(false),
    );
    suite.check("preempted_lane", lanes([0, 1]).judge(false));
    suite.check("preempted_filler_of_a_queue", queue().judge(false));
    suite.check("clock_set_in_an_interrupt", clock(false).judge(false));
    suite.check("preempted_clock_setting", clock(true).judge(false));
    suite.check(
        "planted_plain_word_is_caught",
        word::<PlainWord>().judge(true),
    );
    suite.check(
        "planted_lane_of_two_owners_is_caught",
        lanes([0, 0]).judge(true),
    );
}

/// A word that is loaded and stored without anything that keeps others out.
struct PlainWord(UnsafeCell<u32>);

// SAFETY: no more than a number comes to harm, which is what is to be seen.
unsafe impl Sync for PlainWord {}

impl AtomicWord for PlainWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn load(&self) -> u32 {
        // SAFETY: the word is there.
        unsafe { self.0.get().read_volatile() }
    }

    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        let equal = self.load() == current;
        if equal {
            // SAFETY: as above.
            unsafe { self.0.get().write_volatile(new) };
        }
        equal
    }
}

#[cfg(target_has_atomic = "32")]
fn native() -> Option<Sweep> {
    Some(word::<core::sync::atomic::AtomicU32>())
}

/// The processor has no compare-and-swap.
#[cfg(not(target_has_atomic = "32"))]
fn native() -> Option<Sweep> {
    None
}

/// The most seconds that a word counts.
fn lease() -> Lease<L> {
    Lease::new(L::default(), 42, 0, 32_767).unwrap()
}

/// One generator for both.
fn word<W: AtomicWord<Value = u32> + Sync>() -> Sweep {
    Shown::set(1);
    let generator = Generator::<L, W, _>::new(lease(), Shown, permutation()).unwrap();
    Sweep::run(
        &mut || generator.generate(),
        &mut || generator.generate(),
        &|id| generator.inspect(id),
    )
}

/// One lane for the main code, and one for the interrupt.
fn lanes(numbers: [usize; 2]) -> Sweep {
    Shown::set(1);
    let [mut main_code, mut interrupt] = numbers.map(|number| {
        let lanes: [_; 2] = Lane::split(lease(), Shown, permutation()).unwrap();
        lanes.into_iter().nth(number).unwrap()
    });
    let codec = Codec::new(L::default(), permutation());
    Sweep::run(
        &mut || main_code.generate(),
        &mut || interrupt.generate(),
        &|id| codec.inspect(id),
    )
}

/// The main code fills a queue from one lane, and takes its own ids from the other; the interrupt
/// takes from the queue, which is never empty.
fn queue() -> Sweep {
    Shown::set(1);
    let [mut queued, mut main_code] =
        Lane::<L, _, _>::split(lease(), Shown, permutation()).unwrap();
    let mut queue = Prefetch::<4>::new();
    let (mut filler, mut taker) = queue.split::<L>(9);
    let mut fill = move || filler.fill(&lease(), &Shown, || queued.generate());
    fill().unwrap();
    let codec = Codec::new(L::default(), permutation());
    Sweep::run(
        &mut || {
            fill()?;
            main_code.generate()
        },
        &mut || taker.take(&Shown).ok_or(GenerateError::ClockUnknown),
        &|id| codec.inspect(id),
    )
}

/// A clock that both read, and one sets every third time.
fn clock(main_code_sets: bool) -> Sweep {
    const STEP: Duration = Duration::from_millis(1_200);

    Shown::set(1);
    let clock = UnixClock::<_, CriticalSectionWord>::new(Shown);
    clock.set(EPOCH + STEP).unwrap();
    let ids = Generator::<L, CriticalSectionWord, _>::new(lease(), &clock, permutation()).unwrap();
    let issue = |sets| {
        let (clock, ids, mut calls) = (&clock, &ids, 0_u8);
        move || {
            calls = (calls + 1) % 3;
            if sets && calls == 0 {
                clock.set(clock.now().unwrap() + STEP).unwrap();
            }
            ids.generate()
        }
    };
    Sweep::run(
        &mut issue(main_code_sets),
        &mut issue(!main_code_sets),
        &|id| ids.inspect(id),
    )
}
