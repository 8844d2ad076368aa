//! An interrupt at every instruction of `generate`, which generates too and, every third time, moves the
//! clock: no id comes twice, and nothing waits for ever.

use core::cell::{Cell, RefCell};
use core::fmt::{self, Display};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use critical_section::Mutex;
use randflake_embedded::randflake_core::{
    AtomicWord, Clock, GenerateError, Generator, Id, Layout, Lease, Randflake, Sparx64,
};
use randflake_embedded::{CriticalSectionWord, PortableWord};

use crate::board;
use crate::suite::Suite;

/// Reloads of the timer. With the speed at which `cargo xtask qemu` runs the processor (64 ns for an
/// instruction, 128 on RISC-V) each is at most an instruction, and all of them outlast a call.
const DELAYS: core::ops::Range<u32> = 1..1_500;

/// How many instructions the interrupts must have hit. A call has more; but those of a critical section are not
/// to be hit, and those of a loop are hit once.
const MIN_PLACES: u32 = 100;

pub fn run(suite: &mut Suite) {
    if let Some(sweep) = native() {
        suite.check("preempted_native_word", sweep.judge(false));
    }
    suite.check(
        "preempted_critical_section_word",
        sweep::<CriticalSectionWord>().judge(false),
    );
    suite.check(
        "preempted_portable_word",
        sweep::<PortableWord>().judge(false),
    );
    suite.check(
        "planted_plain_word_is_caught",
        sweep::<PlainWord>().judge(true),
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

/// What a sweep has found.
struct Sweep {
    issued: u32,
    duplicates: u32,
    /// Instructions of `generate` at which an interrupt came.
    places: u32,
    refused: Option<GenerateError>,
}

impl Sweep {
    fn judge(self, duplicates_expected: bool) -> Result<Self, Self> {
        let as_expected = (self.duplicates > 0) == duplicates_expected;
        if as_expected && self.refused.is_none() && self.places >= MIN_PLACES {
            Ok(self)
        } else {
            Err(self)
        }
    }
}

impl Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            issued,
            duplicates,
            places,
            refused,
        } = self;
        write!(
            f,
            "{issued} ids, {duplicates} duplicates, interrupts at {places} places"
        )?;
        refused.map_or(Ok(()), |error| write!(f, "; {error}"))
    }
}

/// Seconds since the layout's epoch.
static SECONDS: AtomicU32 = AtomicU32::new(0);

pub struct Shown;

impl Shown {
    pub fn set(seconds: u32) {
        SECONDS.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for Shown {
    fn now(&self) -> Option<Duration> {
        let epoch = Duration::from_millis(Randflake::SPEC.epoch_unix_ms());
        Some(epoch + Duration::from_secs(SECONDS.load(Ordering::Relaxed).into()))
    }
}

type Issue = &'static (dyn Fn() -> Result<Id, GenerateError> + Sync);

/// What the interrupt calls, and what that gave.
static ISSUE: Mutex<Cell<Option<Issue>>> = Mutex::new(Cell::new(None));
static IN_INTERRUPT: Mutex<Cell<Option<Result<Id, GenerateError>>>> = Mutex::new(Cell::new(None));
static PLACES: Mutex<RefCell<Places>> = Mutex::new(RefCell::new(Places([0; 64])));
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// A bit for each two bytes of code that a call of `generate` was seen at: all of the image's code would be too
/// much, so places that differ by a multiple of 4 KiB count as one.
struct Places([u32; 64]);

impl Places {
    fn add(&mut self, address: usize) {
        let bit = address / 2 % (64 * 32);
        self.0[bit / 32] |= 1 << (bit % 32);
    }
}

/// The timer's interrupt, which came before the instruction at `address`.
pub fn interrupt(address: usize) {
    let interrupts = INTERRUPTS.load(Ordering::Relaxed) + 1;
    INTERRUPTS.store(interrupts, Ordering::Relaxed);
    if interrupts.is_multiple_of(3) {
        SECONDS.store(SECONDS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    if let Some(issue) = critical_section::with(|cs| ISSUE.borrow(cs).get()) {
        let issued = issue();
        critical_section::with(|cs| {
            IN_INTERRUPT.borrow(cs).set(Some(issued));
            PLACES.borrow_ref_mut(cs).add(address);
        });
    }
}

#[cfg(target_has_atomic = "32")]
fn native() -> Option<Sweep> {
    Some(sweep::<AtomicU32>())
}

/// The processor has no compare-and-swap.
#[cfg(not(target_has_atomic = "32"))]
fn native() -> Option<Sweep> {
    None
}

fn sweep<W: AtomicWord<Value = u32> + Sync>() -> Sweep {
    let lease = Lease::<Randflake>::new(42, 0, 32_767).unwrap();
    Shown::set(1);
    let generator = Generator::<_, W, _>::new(lease, Shown, Sparx64::new(&[7; 16])).unwrap();
    let issue = || generator.generate();
    let issue: &(dyn Fn() -> Result<Id, GenerateError> + Sync) = &issue;
    // SAFETY: the interrupt no longer has it when the generator goes out of scope.
    let issue: Issue = unsafe { core::mem::transmute(issue) };
    critical_section::with(|cs| {
        ISSUE.borrow(cs).set(Some(issue));
        PLACES.borrow_ref_mut(cs).0.fill(0);
    });

    let mut found = Sweep {
        issued: 0,
        duplicates: 0,
        places: 0,
        refused: None,
    };
    let mut highest = None;
    for delay in DELAYS {
        let mut positions = [0; 16];
        let mut count = 0;
        let mut keep = |issued: Result<Id, GenerateError>| match issued {
            Ok(id) => {
                let parts = generator.inspect(id);
                if let Some(slot) = positions.get_mut(count) {
                    *slot = parts.tick << 17 | u64::from(parts.sequence);
                    count += 1;
                }
            }
            Err(error) => found.refused = Some(error),
        };
        board::interrupt_after(delay);
        let from_interrupt = loop {
            keep(issue());
            if let Some(issued) = critical_section::with(|cs| IN_INTERRUPT.borrow(cs).take()) {
                break issued;
            }
        };
        keep(from_interrupt);
        keep(issue());

        // Each was issued after all of the round before.
        let positions = &mut positions[..count];
        positions.sort_unstable();
        for &mut position in positions {
            found.issued += 1;
            found.duplicates += u32::from(highest.is_some_and(|highest| position <= highest));
            highest = highest.max(Some(position));
        }
    }
    found.places = critical_section::with(|cs| {
        ISSUE.borrow(cs).set(None);
        PLACES
            .borrow_ref(cs)
            .0
            .iter()
            .map(|bits| bits.count_ones())
            .sum()
    });
    found
}
