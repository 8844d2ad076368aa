//! A model of flash in which a word is written once between erases, and whose power may be cut in any write or erase.
//!
//! A torn slot reads as one of several records or as none, chosen anew at each boot, or once and for all.

use std::collections::BTreeMap;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};
use randflake_core::HorizonRecord;

use crate::random::Random;

/// What a slot may show: horizons, ascending, 0 for no record. One is what it shows for ever.
pub(crate) type Readings = Vec<u32>;

/// How a slot shows that it has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unreadable {
    AsIfBlank,
    Noise,
    /// Two bits are wrong in a word with ECC.
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashError {
    PowerCut,
    Unreadable,
    /// ECC would not fit any more.
    WrittenTwice,
    Refused,
}

impl NorFlashError for FlashError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// Where the power was cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    pub(crate) slots: Vec<u32>,
    pub(crate) erases: bool,
    /// While it was erased, or in one of its first two slots.
    pub(crate) begins_page: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flash<const WORD: usize, const SLOT: usize, const PAGE: usize> {
    pub(crate) pages: u32,
    pub(crate) unreadable: Unreadable,
    /// Those that were touched since they were erased.
    pub(crate) slots: BTreeMap<u32, Readings>,
    /// What torn ones show until the next boot.
    pub(crate) shown: BTreeMap<u32, u32>,
    /// How many slots are written or pages erased before the power is cut.
    pub(crate) fuel: u32,
    pub(crate) cut: Option<Cut>,
    pub(crate) was_written_twice: bool,
    pub(crate) reads: u32,
    /// It shows none of what is written into it, and the driver does not notice.
    pub(crate) dead: Option<u32>,
}

impl<const WORD: usize, const SLOT: usize, const PAGE: usize> Flash<WORD, SLOT, PAGE> {
    pub(crate) fn new(pages: u32, unreadable: Unreadable) -> Self {
        Self {
            pages,
            unreadable,
            slots: BTreeMap::new(),
            shown: BTreeMap::new(),
            fuel: u32::MAX,
            cut: None,
            was_written_twice: false,
            reads: 0,
            dead: None,
        }
    }

    const SLOT_BYTES: u32 = bytes(SLOT);
    const PAGE_BYTES: u32 = bytes(PAGE);
    const IN_PAGE: u32 = Self::PAGE_BYTES / Self::SLOT_BYTES;

    /// Torn slots, and what they may show.
    pub(crate) fn torn(&self) -> BTreeMap<u32, Readings> {
        let mut torn = self.slots.clone();
        torn.retain(|_, readings| readings.len() > 1);
        torn
    }

    /// Power comes back: what is torn shows something, until the next boot.
    pub(crate) fn boot(&mut self, fuel: u32, random: &mut Random) {
        self.fuel = fuel;
        self.cut = None;
        self.shown.clear();
        for (slot, readings) in self.torn() {
            self.shown.insert(slot, one_of(&readings, random));
        }
    }

    /// What was torn in a write shows one of its readings from now on.
    pub(crate) fn settle(&mut self, random: &mut Random) {
        let Some(cut) = self.cut.take().filter(|cut| !cut.erases) else {
            return;
        };
        for slot in cut.slots {
            let shown = one_of(&self.slots[&slot], random);
            self.slots.insert(slot, vec![shown]);
        }
    }

    /// The next write or erase, of these slots: whether it is done to its end.
    fn burn(&mut self, slots: impl Iterator<Item = u32>, erases: bool) -> Result<(), FlashError> {
        if self.cut.is_some() {
            return Err(FlashError::PowerCut);
        }
        let Some(fuel) = self.fuel.checked_sub(1) else {
            let slots: Vec<u32> = slots.collect();
            let begins_page = erases || slots.iter().any(|slot| slot % Self::IN_PAGE < 2);
            self.cut = Some(Cut {
                slots,
                erases,
                begins_page,
            });
            return Err(FlashError::PowerCut);
        };
        self.fuel = fuel;
        Ok(())
    }

    fn tear(&mut self, slot: u32, to: u32) {
        let readings = self.slots.entry(slot).or_default();
        readings.extend([0, to]);
        readings.sort_unstable();
        readings.dedup();
    }
}

impl<const WORD: usize, const SLOT: usize, const PAGE: usize> ErrorType
    for Flash<WORD, SLOT, PAGE>
{
    type Error = FlashError;
}

impl<const WORD: usize, const SLOT: usize, const PAGE: usize> ReadNorFlash
    for Flash<WORD, SLOT, PAGE>
{
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        check_read(self, offset, bytes.len()).map_err(|_| FlashError::Refused)?;
        assert!(offset.is_multiple_of(Self::SLOT_BYTES) && bytes.len() == SLOT);
        bytes.fill(0xff);
        self.reads += 1;
        let slot = offset / Self::SLOT_BYTES;
        let Some(readings) = self.slots.get(&slot) else {
            return Ok(());
        };
        let horizon = self.shown.get(&slot).unwrap_or(&readings[0]);
        match (HorizonRecord::new(*horizon), self.unreadable) {
            (Some(record), _) => bytes[..8].copy_from_slice(&record.to_bytes()),
            (None, Unreadable::AsIfBlank) => {}
            (None, Unreadable::Noise) => bytes.fill(0x5a),
            (None, Unreadable::Error) => return Err(FlashError::Unreadable),
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.pages as usize * PAGE
    }
}

impl<const WORD: usize, const SLOT: usize, const PAGE: usize> NorFlash for Flash<WORD, SLOT, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        check_erase(self, from, to).map_err(|_| FlashError::Refused)?;
        for page in from / Self::PAGE_BYTES..to / Self::PAGE_BYTES {
            let slots = page * Self::IN_PAGE..(page + 1) * Self::IN_PAGE;
            let touched: Vec<u32> = self.slots.range(slots).map(|(slot, _)| *slot).collect();
            let done = self.burn(touched.iter().copied(), true);
            for slot in touched {
                if done.is_ok() {
                    self.slots.remove(&slot);
                    self.shown.remove(&slot);
                } else {
                    self.tear(slot, 0);
                }
            }
            done?;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FlashError> {
        check_write(self, offset, bytes.len()).map_err(|_| FlashError::Refused)?;
        assert!(offset.is_multiple_of(Self::SLOT_BYTES) && bytes.len() == SLOT);
        let slot = offset / Self::SLOT_BYTES;
        if self.slots.contains_key(&slot) {
            self.was_written_twice = true;
            return Err(FlashError::WrittenTwice);
        }
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let record = HorizonRecord::from_words([word(0), word(4)]).unwrap();
        match self.burn([slot].into_iter(), false) {
            Ok(()) => {
                let is_dead = self.dead == Some(slot);
                let shown = if is_dead { 0 } else { record.unix_s() };
                self.slots.insert(slot, vec![shown]);
                Ok(())
            }
            cut => {
                self.tear(slot, record.unix_s());
                cut
            }
        }
    }
}

fn one_of(readings: &[u32], random: &mut Random) -> u32 {
    let len = u32::try_from(readings.len()).unwrap();
    readings[random.below(len) as usize]
}

#[expect(clippy::cast_possible_truncation, reason = "at most a page")]
const fn bytes(size: usize) -> u32 {
    size as u32
}
