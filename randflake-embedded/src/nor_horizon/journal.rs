//! Decides where the next record is written. Pure: it is given what slots show and returns what to write and erase;
//! the callers do the I/O, blocking or async.
//!
//! Each page is a row of slots, written from the first, its *head*, to the last; the page whose head is higher is the
//! one in use. What a power cut leaves of a write or an erase is *torn*: bits that were to change read as 0 or as 1,
//! and differently at each boot. What was completed reads the same until it is erased; such a slot is *firm*. It holds:
//!
//! 1. **Between two erases a slot is written with one record at most**, and with marks. A mark is a part of any record,
//!    so what a slot shows is its record or none.
//! 2. **A record is begun only behind a firm slot.** A boot that sees slot `s` as the last that shows anything knows
//!    that no record was begun behind `s + 1`. It marks that, so that it is firm whatever it was, and goes on behind it.
//! 3. **A page is used further only when its head is firm.** While nothing that was written shows behind the head, the
//!    same record is written over it first.
//! 4. **A page is erased only when the other has a firm head and, firm, the highest horizon that was answered.** The new
//!    head is higher than all that was seen there, so the page that was left is the lower for as long as its head
//!    shows anything.
//!
//! The crate's `DESIGN.md` says why that is enough.

use core::ops::Range;

use randflake_core::HorizonRecord;

/// Sizes of a page (a power of two) and of a slot, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) page_bytes: u32,
    pub(crate) slot_bytes: u32,
}

impl Geometry {
    /// Offset of an address within its page.
    const fn in_page(self, at: u32) -> u32 {
        at & self.page_bytes.wrapping_sub(1)
    }

    const fn page_of(self, at: u32) -> u32 {
        at & !self.page_bytes.wrapping_sub(1)
    }

    const fn after(self, at: u32) -> u32 {
        at.wrapping_add(self.slot_bytes)
    }

    const fn before(self, at: u32) -> u32 {
        at.wrapping_sub(self.slot_bytes)
    }
}

/// The two words of a record, at the start of a slot.
pub(crate) type SlotWords = [u32; 2];

/// Finds the page in use at boot: reads both heads, then the slots after the higher one.
#[derive(Debug)]
pub(crate) struct Scan {
    geometry: Geometry,
    /// Highest record read so far.
    highest: Option<HorizonRecord>,
    /// Address of the last slot that is not blank.
    last: u32,
    /// Address of the slot to read next.
    at: u32,
    /// Whether both heads were read and the scan goes through the page in use.
    is_behind: bool,
    /// Whether a record was found behind the head, which makes the head firm.
    is_begun: bool,
}

impl Scan {
    pub(crate) const fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            highest: None,
            // Before the first slot, where the first record goes.
            last: geometry.before(0),
            at: 0,
            is_behind: false,
            is_begun: false,
        }
    }

    /// Address to read next, or `None` at the end of the page in use. Without any head both heads are read and then
    /// the first page.
    pub(crate) const fn next(&self) -> Option<u32> {
        if self.is_behind && self.geometry.in_page(self.at) == 0 {
            return None;
        }
        Some(self.at)
    }

    /// Takes what the slot at [`next`](Self::next) shows.
    pub(crate) fn saw(&mut self, words: SlotWords) {
        let record = HorizonRecord::from_words(words);
        let is_higher = order(record) > order(self.highest);
        if is_higher {
            self.highest = record;
        }
        if !self.is_behind {
            if is_higher {
                self.last = self.at;
            }
            self.is_behind = self.at != 0;
            // First the head of page 0, then that of page 1, then the slots behind the higher of the two.
            self.at = if self.is_behind {
                self.geometry.after(self.last)
            } else {
                self.geometry.page_bytes
            };
            return;
        }
        if !is_blank(words) {
            self.last = self.at;
            // Only a whole record proves that the head is firm: a single bit that cannot be erased looks like a
            // mark.
            self.is_begun |= record.is_some();
        }
        self.at = self.geometry.after(self.at);
    }

    pub(crate) const fn journal(&self) -> Journal {
        Journal {
            next: self.geometry.after(self.last),
            highest: self.highest,
            is_begun: self.is_begun,
            is_firm: self.highest.is_none(),
        }
    }
}

/// State of the page in use: where the next record goes, and what is certain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Journal {
    /// The slot behind the last that shows anything or was touched; the beginning of a page, or the end of the second,
    /// when the other page is to be begun.
    next: u32,
    /// `None` when no record is readable.
    highest: Option<HorizonRecord>,
    /// Whether the page's head is firm: a record was begun behind it, or it was written since the boot.
    is_begun: bool,
    /// Whether the horizon, and the slot before the next, are known to be firm.
    is_firm: bool,
}

impl Journal {
    /// The horizon in Unix seconds, or 0 when no record is readable.
    pub(crate) const fn horizon(&self) -> u32 {
        match self.highest {
            Some(record) => record.unix_s(),
            None => 0,
        }
    }

    /// Whether the horizon is at least `to` and durable. One that was only read may be torn, so it is written
    /// again.
    pub(crate) const fn holds(&self, to: u32) -> bool {
        to <= self.horizon() && self.is_firm
    }

    /// The record for `to`, higher than all that were read; `None` past the last one that can be stored.
    pub(crate) fn record_for(&self, to: u32) -> Option<HorizonRecord> {
        HorizonRecord::new(to.max(self.horizon().wrapping_add(1)))
    }

    /// Step 1, unless the horizon is firm: address of a head that must be written again, with the
    /// [record](Self::record) that it shows.
    pub(crate) const fn doubtful_head(&self, geometry: Geometry) -> Option<u32> {
        if self.is_begun {
            return None;
        }
        Some(geometry.page_of(geometry.before(self.next)))
    }

    /// The record of the horizon, which a doubtful head is rewritten with.
    pub(crate) const fn record(&self) -> Option<HorizonRecord> {
        self.highest
    }

    pub(crate) const fn is_firm(&self) -> bool {
        self.is_firm
    }

    /// Notes that the head was written and read back.
    pub(crate) const fn wrote_head(&mut self) {
        self.is_begun = true;
    }

    /// Step 2, unless the horizon is firm: address of the slot to mark. After a failure the following slot is
    /// marked. At the end of a page it is the last slot, until that is firm: then no boot finds room in this page.
    pub(crate) const fn take_doubtful(&mut self, geometry: Geometry) -> u32 {
        let at = self.next;
        if geometry.in_page(at) == 0 {
            return geometry.before(at);
        }
        self.next = geometry.after(at);
        at
    }

    /// Step 3: address for the record, and the pages to erase before. After a failure the next slot is used; a head
    /// is erased and written again.
    pub(crate) const fn take_slot(&mut self, geometry: Geometry) -> (u32, Option<Range<u32>>) {
        let at = self.next;
        if geometry.in_page(at) != 0 {
            self.next = geometry.after(at);
            // Until the write is confirmed: if it fails, the torn slot is marked before the next try.
            self.is_firm = false;
            return (at, None);
        }
        // The end of the second page is the beginning of the first.
        let at = at & geometry.page_bytes;
        // What is unreadable now may be readable later: where there was no horizon, both pages are erased.
        let pages = if self.highest.is_none() { 2 } else { 1 };
        let end = at.wrapping_add(geometry.page_bytes.wrapping_mul(pages));
        (at, Some(at..end))
    }

    /// Step 4: notes that the record was written there and read back.
    pub(crate) const fn wrote(&mut self, geometry: Geometry, at: u32, record: HorizonRecord) {
        self.next = geometry.after(at);
        self.highest = Some(record);
        self.is_begun = true;
        self.is_firm = true;
    }
}

/// Sort key of records: their first word. Comparing `Option`s takes more instructions.
fn order(record: Option<HorizonRecord>) -> u32 {
    record.map_or(0, |record| {
        let [word, _] = record.to_words();
        word
    })
}

const fn is_blank([first, second]: SlotWords) -> bool {
    first & second == u32::MAX
}

/// Whether a write succeeded, by what is read back. A record must be exact, except in a head: it has no other
/// place, and shows its record in spite of one dead bit. Of a mark one of its two bits is enough.
pub(crate) fn is_written(
    geometry: Geometry,
    at: u32,
    record: Option<HorizonRecord>,
    shown: SlotWords,
) -> bool {
    let Some(record) = record else {
        let [first, second] = shown;
        let [mark, other] = HorizonRecord::MARK;
        return first & second & !(mark & other) == 0;
    };
    shown == record.to_words()
        || geometry.in_page(at) == 0 && HorizonRecord::from_words(shown) == Some(record)
}
