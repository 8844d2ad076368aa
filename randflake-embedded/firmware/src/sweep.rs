//! A call that issues an id, interrupted at every instruction by one that issues another.

use core::cell::RefCell;
use core::fmt::{self, Display};
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::Mutex;
use randflake_embedded::randflake_core::{GenerateError, Id, Parts};

use crate::board;
use crate::suite::Shown;
use crate::timer;

/// Delays of the timer are 1, 2, 3 … of its ticks: so many, and on until the interrupt comes when
/// the call is over. With the speed at which `cargo xtask qemu` runs the processor a tick is at
/// most an instruction, so none is left out: see `timer`.
const MIN_DELAYS: u32 = 1_499;
const MAX_DELAYS: u32 = 5_000;

/// How often each delay is tried. The interrupt moves the clock every third time, and every second
/// time the call itself begins in a new tick.
const ROUNDS: u32 = 6;

/// How many instructions the interrupts must have hit, which is far fewer than a call has: that
/// none is left out is the timer's test.
const MIN_PLACES: u32 = 50;

pub type Issued = Result<Id, GenerateError>;

/// What the interrupt does.
struct Interrupt {
    issue: &'static mut (dyn FnMut() -> Issued + Send),
    count: u32,
    /// What it has issued, and whether the call was over.
    issued: Option<(Issued, bool)>,
    places: Places,
}

static INTERRUPT: Mutex<RefCell<Option<Interrupt>>> = Mutex::new(RefCell::new(None));
static CALL_IS_OVER: AtomicBool = AtomicBool::new(false);

/// The timer's interrupt, which came before the instruction at `address`.
pub fn interrupt(address: usize) {
    let Some(mut interrupt) = critical_section::with(|cs| INTERRUPT.take(cs)) else {
        return timer::interrupt(address);
    };
    let is_over = CALL_IS_OVER.load(Ordering::Relaxed);
    if !is_over {
        interrupt.places.add(address);
    }
    interrupt.count += 1;
    if interrupt.count.is_multiple_of(3) {
        Shown::advance();
    }
    interrupt.issued = Some(((interrupt.issue)(), is_over));
    critical_section::with(|cs| INTERRUPT.replace(cs, Some(interrupt)));
}

/// A bit for each two bytes of code that a call was seen at: all of the image's code would be too
/// much, so places that differ by a multiple of 4 KiB count as one.
struct Places([u32; 64]);

impl Places {
    fn add(&mut self, address: usize) {
        let bit = address / 2 % (64 * 32);
        self.0[bit / 32] |= 1 << (bit % 32);
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|bits| bits.count_ones()).sum()
    }
}

/// What a sweep has found.
#[derive(Default)]
pub struct Sweep {
    delays: u32,
    /// That the last delay outlasted the call.
    is_whole: bool,
    /// Instructions of the call at which an interrupt came.
    places: u32,
    issued: u32,
    duplicates: u32,
    refused: Option<GenerateError>,
    /// The highest position in each half of the sequences. Two lanes have one half each; without
    /// lanes none comes as far as the upper one.
    highest: [Option<u64>; 2],
}

impl Sweep {
    /// Interrupts `issue` at every instruction. `in_interrupt` may issue from the same generator.
    pub fn run(
        issue: &mut dyn FnMut() -> Issued,
        in_interrupt: &mut (dyn FnMut() -> Issued + Send),
        inspect: &dyn Fn(Id) -> Parts,
    ) -> Self {
        type Borrowed<'a> = &'a mut (dyn FnMut() -> Issued + Send + 'a);
        // SAFETY: the interrupt loses it below, before anything returns; a panic ends the program.
        let in_interrupt =
            unsafe { mem::transmute::<Borrowed<'_>, Borrowed<'static>>(in_interrupt) };
        let interrupt = Interrupt {
            issue: in_interrupt,
            count: 0,
            issued: None,
            places: Places([0; 64]),
        };
        critical_section::with(|cs| INTERRUPT.replace(cs, Some(interrupt)));
        let mut found = Self::default();
        while found.delays < MIN_DELAYS || !found.is_whole && found.delays < MAX_DELAYS {
            found.delays += 1;
            found.is_whole = true;
            for round in 0..ROUNDS {
                if round % 2 == 1 {
                    Shown::advance();
                }
                found.round(issue, inspect);
            }
        }
        let interrupt = critical_section::with(|cs| INTERRUPT.take(cs));
        found.places = interrupt.map_or(0, |interrupt| interrupt.places.count());
        found
    }

    /// One interrupt, and a call after it.
    fn round(&mut self, issue: &mut dyn FnMut() -> Issued, inspect: &dyn Fn(Id) -> Parts) {
        CALL_IS_OVER.store(false, Ordering::Relaxed);
        board::interrupt_after(self.delays);
        let interrupted = issue();
        CALL_IS_OVER.store(true, Ordering::Relaxed);
        let (in_interrupt, was_over) = loop {
            let issued = critical_section::with(|cs| {
                let mut interrupt = INTERRUPT.borrow_ref_mut(cs);
                interrupt.as_mut().and_then(|it| it.issued.take())
            });
            if let Some(issued) = issued {
                break issued;
            }
        };
        self.is_whole &= was_over;

        // Each was issued after all of the round before.
        let mut positions = [interrupted, in_interrupt, issue()].map(|issued| match issued {
            Ok(id) => {
                let parts = inspect(id);
                Some((parts.tick, parts.sequence))
            }
            Err(error) => {
                self.refused = Some(error);
                None
            }
        });
        positions.sort_unstable();
        for (tick, sequence) in positions.into_iter().flatten() {
            let position = tick << 17 | u64::from(sequence);
            let highest = &mut self.highest[(sequence >> 16) as usize];
            self.issued += 1;
            self.duplicates += u32::from(highest.is_some_and(|highest| position <= highest));
            *highest = (*highest).max(Some(position));
        }
    }

    /// Whether ids came twice just if they were expected to, and nothing else went wrong.
    pub fn judge(self, duplicates_expected: bool) -> Result<Self, Self> {
        let as_expected = (self.duplicates > 0) == duplicates_expected;
        let is_whole = self.is_whole && self.places >= MIN_PLACES;
        if as_expected && is_whole && self.refused.is_none() {
            Ok(self)
        } else {
            Err(self)
        }
    }
}

impl Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            delays,
            is_whole,
            places,
            issued,
            duplicates,
            refused,
            ..
        } = self;
        let until = if *is_whole { "" } else { "not " };
        write!(
            f,
            "{issued} ids, {duplicates} duplicates, interrupts at {places} places after up to {delays} ticks, \
             {until}to the end of the call"
        )?;
        refused.map_or(Ok(()), |error| write!(f, "; {error}"))
    }
}
