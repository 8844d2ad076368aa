//! An interrupt at every instruction of `generate`, which generates too: no id comes twice, and nothing waits for
//! ever.

use core::sync::atomic::{AtomicU32, Ordering};

use randflake_embedded::randflake_core::{
    AtomicWord, Codec, Generator, Lane, Lease, Randflake, Sparx64,
};
use randflake_embedded::{CriticalSectionWord, PortableWord};

use crate::shown::Shown;
use crate::suite::Suite;
use crate::sweep::Sweep;

const KEY: [u8; 16] = [7; 16];

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
struct PlainWord(AtomicU32);

impl AtomicWord for PlainWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        let equal = self.0.load(Ordering::Relaxed) == current;
        if equal {
            self.0.store(new, Ordering::Relaxed);
        }
        equal
    }
}

#[cfg(target_has_atomic = "32")]
fn native() -> Option<Sweep> {
    Some(word::<AtomicU32>())
}

/// The processor has no compare-and-swap.
#[cfg(not(target_has_atomic = "32"))]
fn native() -> Option<Sweep> {
    None
}

/// The most seconds that a word counts.
fn lease() -> Lease<Randflake> {
    Lease::new(42, 0, 32_767).unwrap()
}

/// One generator for both.
fn word<W: AtomicWord<Value = u32> + Sync>() -> Sweep {
    Shown::set(1);
    let generator = Generator::<_, W, _>::new(lease(), Shown, Sparx64::new(&KEY)).unwrap();
    Sweep::run(
        &mut || generator.generate(),
        &mut || generator.generate(),
        &|id| generator.inspect(id),
    )
}

/// One lane for the main code, and one for the interrupt.
fn lanes(numbers: [usize; 2]) -> Sweep {
    Shown::set(1);
    let key = Sparx64::new(&KEY);
    let [mut main_code, mut interrupt] = numbers.map(|number| {
        let lanes: [_; 2] = Lane::split(lease(), Shown, &key).unwrap();
        lanes.into_iter().nth(number).unwrap()
    });
    let codec = Codec::<Randflake>::new(Sparx64::new(&KEY));
    Sweep::run(
        &mut || main_code.generate(),
        &mut || interrupt.generate(),
        &|id| codec.inspect(id),
    )
}
