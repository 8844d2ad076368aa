//! A flash of two pages of so many slots, each of whose operations is done, fails, or is cut.

use core::cell::Cell;
use core::fmt;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};

use super::cells::{Readings, Slot};
use super::choices::Choices;

const SLOT: usize = 8;

/// A cell that has one value for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Dead {
    pub(crate) slot: usize,
    /// That cannot be written.
    pub(crate) one: u64,
    /// That cannot be erased.
    pub(crate) zero: u64,
}

/// What may go wrong, and what the driver does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// So often in a boot an operation fails without a cut, having done any part of it.
    pub(crate) errors: u32,
    pub(crate) dead: Dead,
    /// Whether the driver reads what it wrote, and fails if it is something else.
    pub(crate) verifies: bool,
}

/// Whether there is power; a run looks at it while a store has the flash.
#[derive(Debug, Default)]
pub(crate) struct Power {
    is_off: Cell<bool>,
}

impl Power {
    pub(crate) const fn is_off(&self) -> bool {
        self.is_off.get()
    }
}

pub(crate) struct Flash<'a, const SLOTS: usize> {
    pub(crate) slots: Vec<Slot>,
    /// What the slots read as, from this boot to the next; nothing until they are read.
    shown: Vec<Option<u64>>,
    readings: &'a Readings,
    choices: &'a Choices,
    power: &'a Power,
    faults: Faults,
}

/// Says nothing: what a store knows is the rest of it.
impl<const SLOTS: usize> fmt::Debug for Flash<'_, SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

enum Outcome {
    Done,
    Failed,
}

impl<'a, const SLOTS: usize> Flash<'a, SLOTS> {
    /// A boot: until the next, a torn cell reads as what it is first read as.
    pub(crate) fn boot(
        slots: Vec<Slot>,
        readings: &'a Readings,
        choices: &'a Choices,
        power: &'a Power,
        faults: Faults,
    ) -> Self {
        Self {
            shown: vec![None; slots.len()],
            slots,
            readings,
            choices,
            power,
            faults,
        }
    }

    /// What a slot reads as.
    fn shown(&mut self, at: usize) -> &mut u64 {
        let slot = self.slots[at];
        assert_ne!(slot, Slot::UNKNOWN, "a page that is not in use");
        self.shown[at].get_or_insert_with(|| {
            if slot.torn == 0 {
                return !slot.zero;
            }
            let readings = self.readings.of(slot);
            readings[self.choices.one_of(readings.len())]
        })
    }

    /// Whether the next operation is done, or leaves what it would change torn.
    fn outcome(&mut self) -> Result<Outcome, NorFlashErrorKind> {
        if self.power.is_off() {
            return Err(NorFlashErrorKind::Other);
        }
        let ways = if self.faults.errors > 0 { 3 } else { 2 };
        match self.choices.one_of(ways) {
            0 => return Ok(Outcome::Done),
            1 => self.power.is_off.set(true),
            _ => self.faults.errors -= 1,
        }
        Ok(Outcome::Failed)
    }

    fn dead(&self, slot: usize) -> Dead {
        if slot == self.faults.dead.slot {
            self.faults.dead
        } else {
            Dead::default()
        }
    }
}

/// Which slot, at its beginning: what is not asked for by slots is a fault of the design.
fn slot_at(offset: u32) -> usize {
    let offset = offset as usize;
    assert_eq!(offset % SLOT, 0, "not a slot");
    offset / SLOT
}

impl<const SLOTS: usize> ErrorType for Flash<'_, SLOTS> {
    type Error = NorFlashErrorKind;
}

impl<const SLOTS: usize> ReadNorFlash for Flash<'_, SLOTS> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        if self.power.is_off() {
            return Err(NorFlashErrorKind::Other);
        }
        bytes.copy_from_slice(&self.shown(slot_at(offset)).to_le_bytes());
        Ok(())
    }

    fn capacity(&self) -> usize {
        2 * SLOTS * SLOT
    }
}

impl<const SLOTS: usize> MultiwriteNorFlash for Flash<'_, SLOTS> {}

impl<const SLOTS: usize> NorFlash for Flash<'_, SLOTS> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SLOTS * SLOT;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let outcome = self.outcome()?;
        for at in slot_at(from)..slot_at(to) {
            let dead = self.dead(at);
            let slot = &mut self.slots[at];
            match outcome {
                Outcome::Done => {
                    *slot = Slot {
                        zero: dead.zero,
                        torn: 0,
                    };
                    self.shown[at] = Some(!dead.zero);
                }
                Outcome::Failed if *slot == Slot::UNKNOWN => {}
                Outcome::Failed => {
                    slot.torn |= slot.zero & !dead.zero;
                    slot.zero = dead.zero;
                }
            }
        }
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Failed => Err(NorFlashErrorKind::Other),
        }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let outcome = self.outcome()?;
        let at = slot_at(offset);
        let wanted = u64::from_le_bytes(bytes.try_into().expect("a slot"));
        let cleared = !wanted & !self.dead(at).one;
        if let Outcome::Failed = outcome {
            let slot = &mut self.slots[at];
            assert_ne!(*slot, Slot::UNKNOWN, "a page that is not in use");
            slot.torn |= cleared & !slot.zero;
            return Err(NorFlashErrorKind::Other);
        }
        *self.shown(at) &= !cleared;
        let slot = &mut self.slots[at];
        slot.zero |= cleared;
        slot.torn &= !cleared;
        if self.faults.verifies && *self.shown(at) & !wanted != 0 {
            return Err(NorFlashErrorKind::Other);
        }
        Ok(())
    }
}
