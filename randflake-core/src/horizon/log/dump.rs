//! The bytes of a log, for tools on a host: what a factory writes, and what a dump shows.

use super::record;
use crate::HorizonRecord;

/// Sizes of a log in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGeometry {
    pages: u32,
    page_bytes: u32,
    slot_bytes: u32,
}

impl LogGeometry {
    /// Checks the sizes as firmware does: at least three pages, of at least four slots, which are
    /// powers of two of at least 8 bytes.
    #[must_use]
    pub const fn new(pages: u32, page_bytes: u32, slot_bytes: u32) -> Option<Self> {
        let is_slot = slot_bytes >= 8 && slot_bytes.is_power_of_two();
        if pages < 3
            || !is_slot
            || !page_bytes.is_multiple_of(slot_bytes)
            || page_bytes < slot_bytes.saturating_mul(4)
            || pages.checked_mul(page_bytes).is_none()
        {
            return None;
        }
        Some(Self {
            pages,
            page_bytes,
            slot_bytes,
        })
    }

    /// Bytes of all pages.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.pages.saturating_mul(self.page_bytes)
    }

    /// What a factory writes, by address; every other byte of all pages is `0xff`.
    #[must_use]
    pub const fn provisioned(&self, first: HorizonRecord) -> [(u32, [u8; 8]); 2] {
        [
            (0, first.to_bytes()),
            (self.slot_bytes, HorizonRecord::SEAL.to_bytes()),
        ]
    }

    /// What each page of a dump shows.
    pub fn pages<'a>(&self, dump: &'a [u8]) -> impl Iterator<Item = LogPage> + use<'a> {
        let slot_bytes = self.slot_bytes as usize;
        dump.chunks_exact(self.page_bytes as usize)
            .take(self.pages as usize)
            .map(move |page| LogPage::of(page, slot_bytes))
    }
}

/// What a page of a log shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogPage {
    /// The record in the first slot, higher than those of the pages before.
    pub head: Option<HorizonRecord>,
    /// Version of the format that the second slot names. Without it the head was tried, and perhaps
    /// never answered.
    pub version: Option<u8>,
    /// How many slots behind these show a record.
    pub records: u32,
    /// How many of all slots are neither blank nor a record: a power cut was there, or the flash is
    /// worn.
    pub damaged: u32,
    /// The highest record of the page.
    pub highest: Option<HorizonRecord>,
    /// Whether its erase has failed, so that it is marked as bad and shows nothing else.
    pub is_bad: bool,
}

impl LogPage {
    fn of(page: &[u8], slot_bytes: usize) -> Self {
        let mut shown = Self::default();
        for (number, slot) in page.chunks_exact(slot_bytes).enumerate() {
            let record = record(slot);
            // As the horizon decides: a head in front of a seal may be any number.
            let mark = Some(HorizonRecord::BAD_PAGE);
            let is_marked =
                record == mark || shown.head == mark && record != Some(HorizonRecord::SEAL);
            if number == 1 && is_marked {
                return Self {
                    is_bad: true,
                    ..Self::default()
                };
            }
            if record.is_none() && slot.iter().any(|byte| *byte != 0xff) {
                shown.damaged = shown.damaged.saturating_add(1);
            }
            match number {
                0 => shown.head = record,
                1 => {
                    shown.version = record
                        .map(HorizonRecord::version)
                        .filter(|version| *version != 0);
                }
                _ => shown.records = shown.records.saturating_add(record.is_some().into()),
            }
            if number != 1 {
                shown.highest = shown.highest.max(record);
            }
        }
        shown
    }
}
