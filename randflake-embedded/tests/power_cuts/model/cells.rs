//! Slots whose cells are 0, 1 or torn: between the two, and read as either at each boot.

use core::cell::RefCell;
use core::ops::RangeInclusive;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The 64 cells of a slot. What is neither 0 nor torn is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) zero: u64,
    pub(crate) torn: u64,
}

/// Those in which the records differ that the model writes, multiples of 4 below 512, and two that have a meaning of
/// their own: bits 0 to 8 of both words.
pub(crate) const DIFFERENT: u64 = 0x1ff << 32 | 0x1ff;

impl Slot {
    pub(crate) const BLANK: Self = Self { zero: 0, torn: 0 };

    /// One that nobody may read or write before it was erased, so that it does not matter what it holds.
    pub(crate) const UNKNOWN: Self = Self {
        zero: u64::MAX,
        torn: u64::MAX,
    };

    /// What it may read as, as far as `view` distinguishes it: see [`Readings`]. In the cells in which all records are the same, there is
    /// one that reads as 1 or none or many.
    fn readings(self, view: fn(u64) -> u32) -> Vec<u64> {
        let rest = self.torn & !DIFFERENT;
        let one = lowest(rest);
        let mut rests = vec![0, one, rest];
        rests.dedup();
        let mut seen = HashSet::new();
        let mut readings = Vec::new();
        let different = self.torn & DIFFERENT;
        let mut some = different;
        loop {
            for rest in &rests {
                let reading = !(self.zero | self.torn) | some | rest;
                if seen.insert(view(reading)) {
                    readings.push(reading);
                }
            }
            if some == 0 {
                return readings;
            }
            // The next lower subset.
            some = (some - 1) & different;
        }
    }

    /// Each of the zeros that may be lost: one stands for all in which all records are the same.
    pub(crate) fn zeros(self) -> Vec<u64> {
        if self == Self::UNKNOWN {
            return Vec::new();
        }
        let each = (0..64).map(|bit| 1 << bit);
        let mut zeros: Vec<_> = each
            .filter(|bit| self.zero & DIFFERENT & bit != 0)
            .collect();
        zeros.extend(Some(lowest(self.zero & !DIFFERENT)).filter(|bit| *bit != 0));
        zeros
    }
}

/// The lowest bit, if any.
const fn lowest(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// What slots may read as, found once for each.
#[derive(Debug)]
pub(crate) struct Readings {
    view: fn(u64) -> u32,
    found: RefCell<HashMap<Slot, Rc<[u64]>>>,
}

impl Readings {
    pub(crate) fn new(view: fn(u64) -> u32) -> Self {
        Self {
            view,
            found: RefCell::default(),
        }
    }

    pub(crate) fn of(&self, slot: Slot) -> Rc<[u64]> {
        let mut found = self.found.borrow_mut();
        Rc::clone(
            found
                .entry(slot)
                .or_insert_with(|| slot.readings(self.view).into()),
        )
    }

    /// The lowest and the highest horizon that it may read as, which is below 4 when it may be none.
    pub(crate) fn horizons_of(&self, slot: Slot) -> RangeInclusive<u32> {
        let readings = self.of(slot);
        let horizons = || readings.iter().map(|reading| (self.view)(*reading));
        horizons().min().unwrap_or(0)..=horizons().max().unwrap_or(0)
    }
}
