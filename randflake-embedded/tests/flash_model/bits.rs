//! A flash of any size at the level of bits, in which chance decides what goes wrong.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::pending;

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};

use super::slots::Content;

/// What one flash and its driver may do, drawn for each device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// A cut leaves every bit torn that it may have touched, not only zeros.
    pub(crate) both_ways: bool,
    /// Reading a torn slot may fail.
    pub(crate) unreadable: bool,
    /// One of so many operations fails or is abandoned while there is power; 0 for none.
    pub(crate) one_fails_of: u32,
    /// A bit and the value that it has forever.
    pub(crate) dead: Option<(usize, bool)>,
    /// An erase fails if the dead cell stays 0.
    pub(crate) verifies: bool,
}

/// The memory: what stays when there is no power.
#[derive(Debug)]
pub(crate) struct Memory {
    /// What each cell holds, where it is not torn.
    cells: Vec<u8>,
    /// What the torn cells held before.
    before: Vec<u8>,
    torn: Vec<u8>,
    /// A cell whose value has changed since it was written.
    pub(crate) lost: Option<usize>,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            cells: vec![0xff; bytes],
            before: vec![0xff; bytes],
            torn: vec![0; bytes],
            lost: None,
        }
    }
}

/// How the torn cells of a slot read.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Ones,
    Before,
    After,
    Mixed,
    Random,
    Unreadable,
}

const MANNERS: [Manner; 6] = [
    Manner::Ones,
    Manner::Before,
    Manner::After,
    Manner::Mixed,
    Manner::Random,
    Manner::Unreadable,
];

/// One boot: chance, power and what was seen. Looked at while a store has the flash.
#[derive(Debug)]
pub(crate) struct Boot<'a> {
    pub(crate) random: &'a RefCell<Random>,
    pub(crate) habits: Habits,
    /// How many operations are done before the power is cut.
    pub(crate) fuel: Cell<u32>,
    /// Whether operations may fail while there is power. Not while a store opens: there only torn
    /// slots do.
    pub(crate) may_fail: Cell<bool>,
    /// How all torn slots read in this boot, unless each read is another.
    manner: Option<Manner>,
    pub(crate) is_off: Cell<bool>,
    /// Whether an operation has failed or was abandoned, since this was last reset.
    pub(crate) has_failed: Cell<bool>,
    pub(crate) was_overwritten: Cell<bool>,
    /// The highest record that was written.
    pub(crate) highest: Cell<u32>,
}

impl<'a> Boot<'a> {
    pub(crate) fn new(random: &'a RefCell<Random>, habits: Habits, fuel: u32) -> Self {
        let which = random.borrow_mut().below(2 * 6) as usize;
        Self {
            random,
            habits,
            fuel: Cell::new(fuel),
            may_fail: Cell::new(false),
            manner: MANNERS.get(which).copied(),
            is_off: Cell::new(false),
            has_failed: Cell::new(false),
            was_overwritten: Cell::new(false),
            highest: Cell::new(0),
        }
    }

    fn below(&self, bound: u32) -> u32 {
        self.random.borrow_mut().below(bound)
    }

    fn manner(&self) -> Manner {
        self.manner
            .unwrap_or_else(|| MANNERS[self.below(6) as usize])
    }

    fn fails(&self) -> bool {
        let one_of = self.habits.one_fails_of;
        let fails = self.may_fail.get() && one_of > 0 && self.below(one_of) == 0;
        self.has_failed.set(self.has_failed.get() || fails);
        fails
    }
}

pub(crate) struct Flash<'a, const SLOT: usize, const PAGE: usize> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) boot: &'a Boot<'a>,
}

impl<const SLOT: usize, const PAGE: usize> fmt::Debug for Flash<'_, SLOT, PAGE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

impl<const SLOT: usize, const PAGE: usize> Flash<'_, SLOT, PAGE> {
    /// Whether the next write or erase is done to its end, and what is answered; never, for a
    /// future that nobody polls.
    fn end(&self) -> (bool, Option<Result<(), NorFlashErrorKind>>) {
        let boot = self.boot;
        let Some(fuel) = boot.fuel.get().checked_sub(1) else {
            boot.is_off.set(true);
            return (false, None);
        };
        boot.fuel.set(fuel);
        if !boot.fails() {
            return (true, Some(Ok(())));
        }
        let answer = (boot.below(2) == 0).then_some(Err(NorFlashErrorKind::Other));
        (boot.below(2) == 0, answer)
    }
}

async fn answer(answer: Option<Result<(), NorFlashErrorKind>>) -> Result<(), NorFlashErrorKind> {
    match answer {
        Some(answer) => answer,
        None => pending().await,
    }
}

impl<const SLOT: usize, const PAGE: usize> ErrorType for Flash<'_, SLOT, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<const SLOT: usize, const PAGE: usize> ReadNorFlash for Flash<'_, SLOT, PAGE> {
    const READ_SIZE: usize = SLOT;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let boot = self.boot;
        if boot.fails() {
            let error = (boot.below(2) == 0).then_some(Err(NorFlashErrorKind::Other));
            return answer(error).await;
        }
        let (from, memory) = (offset as usize, &*self.memory);
        let slot = from..from + bytes.len();
        bytes.copy_from_slice(&memory.cells[slot.clone()]);
        if memory.torn[slot.clone()].iter().any(|torn| *torn != 0) {
            let manner = boot.manner();
            for (at, byte) in slot.clone().zip(&mut *bytes) {
                let noise = u8::try_from(boot.below(0x100)).unwrap();
                let (before, after) = (memory.before[at], memory.cells[at]);
                let shown = match manner {
                    Manner::Ones => 0xff,
                    Manner::Before => before,
                    Manner::After => after,
                    Manner::Mixed => before & noise | after & !noise,
                    Manner::Random => noise,
                    Manner::Unreadable if boot.habits.unreadable => {
                        return Err(NorFlashErrorKind::Other);
                    }
                    Manner::Unreadable => 0,
                };
                let torn = memory.torn[at];
                *byte = after & !torn | shown & torn;
            }
        }
        if let Some(lost) = memory.lost.filter(|lost| slot.contains(&(lost / 8))) {
            bytes[lost / 8 - from] ^= 1 << (lost % 8);
        }
        if let Some((dead, is_set)) = boot.habits.dead
            && slot.contains(&(dead / 8))
        {
            let (byte, bit) = (&mut bytes[dead / 8 - from], 1 << (dead % 8));
            *byte = if is_set { *byte | bit } else { *byte & !bit };
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.memory.cells.len()
    }
}

impl<const SLOT: usize, const PAGE: usize> MultiwriteNorFlash for Flash<'_, SLOT, PAGE> {}

impl<const SLOT: usize, const PAGE: usize> NorFlash for Flash<'_, SLOT, PAGE> {
    const WRITE_SIZE: usize = SLOT;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        for page in (from as usize..to as usize).step_by(PAGE) {
            let (is_done, ended) = self.end();
            let both_ways = self.boot.habits.both_ways;
            let memory = &mut *self.memory;
            let page = page..page + PAGE;
            if is_done {
                memory.torn[page.clone()].fill(0);
            } else {
                memory.before[page.clone()].copy_from_slice(&memory.cells[page.clone()]);
                for at in page.clone() {
                    memory.torn[at] |= if both_ways { 0xff } else { !memory.cells[at] };
                }
            }
            memory.cells[page.clone()].fill(0xff);
            memory.lost = memory.lost.filter(|lost| !page.contains(&(lost / 8)));
            if ended != Some(Ok(())) {
                return answer(ended).await;
            }
            let Habits { dead, verifies, .. } = self.boot.habits;
            if verifies && dead.is_some_and(|(dead, set)| !set && page.contains(&(dead / 8))) {
                return Err(NorFlashErrorKind::Other);
            }
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let (is_done, ended) = self.end();
        if let Content::Record(unix_s) = Content::from_bytes(bytes) {
            self.boot.highest.set(self.boot.highest.get().max(unix_s));
        }
        let both_ways = self.boot.habits.both_ways;
        let memory = &mut *self.memory;
        let mut is_blank = true;
        for (at, byte) in (offset as usize..).zip(bytes) {
            let old = memory.cells[at];
            is_blank &= old == 0xff && memory.torn[at] == 0;
            if !is_done {
                memory.before[at] = old;
                memory.torn[at] |= if both_ways { 0xff } else { old & !byte };
            }
            memory.cells[at] &= byte;
        }
        if !is_blank && Content::from_bytes(bytes) != Content::Mark {
            self.boot.was_overwritten.set(true);
        }
        answer(ended).await
    }
}

/// Random numbers that are the same in each run: `SplitMix64` (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (z ^ (z >> 31)) >> 32;
        u32::try_from((high * u64::from(bound)) >> 32).unwrap()
    }
}
