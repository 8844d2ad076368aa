//! What the models try to break: ours, and three that look as if they would do.

use core::fmt::Debug;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use randflake_core::{HorizonRecord, HorizonStore};
use randflake_embedded::NorHorizon;

mod appender;
mod overwriter;

use appender::Appender;
use overwriter::Overwriter;

/// A way to keep a horizon in a flash.
pub(crate) trait Design {
    /// Whether a slot has parts of one record at most, in the format of ours.
    const KEEPS_SLOTS_APART: bool = false;

    /// What a slot shows, as far as the design distinguishes it: 1 for nothing, 0 for what is no record.
    fn view(slot: u64) -> u32;

    fn open<F: MultiwriteNorFlash + Debug>(flash: F)
    -> Result<impl HorizonStore + Debug, F::Error>;
}

pub(crate) struct Ours;

impl Design for Ours {
    const KEEPS_SLOTS_APART: bool = true;

    fn view(slot: u64) -> u32 {
        let words = [slot & 0xffff_ffff, slot >> 32].map(|word| u32::try_from(word).unwrap());
        match HorizonRecord::from_words(words) {
            Some(record) => record.unix_s(),
            None => u32::from(words[0] & words[1] == u32::MAX),
        }
    }

    fn open<F: MultiwriteNorFlash + Debug>(
        flash: F,
    ) -> Result<impl HorizonStore + Debug, F::Error> {
        NorHorizon::<F>::open(flash)
    }
}

/// A record is a number and its complement.
fn number(slot: u64) -> u32 {
    let [number, complement] =
        [slot & 0xffff_ffff, slot >> 32].map(|word| u32::try_from(word).unwrap());
    if number == !complement && complement != 0 {
        number
    } else {
        0
    }
}

fn view_of_numbers(slot: u64) -> u32 {
    match number(slot) {
        0 => u32::from(slot == u64::MAX),
        number => number,
    }
}

fn slot_of(number: u32) -> [u8; 8] {
    (u64::from(!number) << 32 | u64::from(number)).to_le_bytes()
}

/// Takes a slot that shows nothing for one that was never touched.
pub(crate) struct TrustsBlankSlots;

impl Design for TrustsBlankSlots {
    fn view(slot: u64) -> u32 {
        view_of_numbers(slot)
    }

    fn open<F: MultiwriteNorFlash + Debug>(
        flash: F,
    ) -> Result<impl HorizonStore + Debug, F::Error> {
        Appender::find(flash)
    }
}

/// Begins a page at each boot, so that no doubtful slot is written; but takes a record that reads well for
/// one that was written to its end, and erases the page that has the one before.
pub(crate) struct TrustsRecords;

impl Design for TrustsRecords {
    fn view(slot: u64) -> u32 {
        view_of_numbers(slot)
    }

    fn open<F: MultiwriteNorFlash + Debug>(
        flash: F,
    ) -> Result<impl HorizonStore + Debug, F::Error> {
        let mut appender = Appender::find(flash)?;
        appender.turn_page();
        Ok(appender)
    }
}

/// Writes its horizon over slots that may be torn, another number among what is left of the first: a cut in that mixes
/// the two.
pub(crate) struct OverwritesSlots;

impl Design for OverwritesSlots {
    fn view(slot: u64) -> u32 {
        view_of_numbers(slot)
    }

    fn open<F: MultiwriteNorFlash + Debug>(
        flash: F,
    ) -> Result<impl HorizonStore + Debug, F::Error> {
        Overwriter::open(flash)
    }
}
