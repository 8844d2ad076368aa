//! Where the next record goes. It is told what the slots show and says what to write and erase; drivers are called
//! elsewhere.
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

/// A page is a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) page_bytes: u32,
    pub(crate) slot_bytes: u32,
}

impl Geometry {
    /// Where a slot is in its page.
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

/// A slot's first two words.
pub(crate) type Words = [u32; 2];

/// Finds the page in use, and what it shows: it reads both heads, then the slots behind the higher.
#[derive(Debug)]
pub(crate) struct Scan {
    geometry: Geometry,
    /// The highest record that was seen.
    highest: Option<HorizonRecord>,
    /// The last slot that shows anything.
    last: u32,
    /// The slot to read.
    at: u32,
    /// Both heads were read.
    is_behind: bool,
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

    /// The slot to read next, until the page in use has ended; there is none when no head shows a record.
    pub(crate) const fn next(&self) -> Option<u32> {
        if self.is_behind && self.geometry.in_page(self.at) == 0 {
            return None;
        }
        Some(self.at)
    }

    /// What that slot shows.
    pub(crate) fn saw(&mut self, words: Words) {
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
            self.at = if self.is_behind {
                self.geometry.after(self.last)
            } else {
                self.geometry.page_bytes
            };
            return;
        }
        if !is_blank(words) {
            self.last = self.at;
            // Not by a bit that cannot be erased: that may look like a mark.
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

/// What is known of the page in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Journal {
    /// The slot behind the last that shows anything or was touched; the beginning of a page, or the end of the second,
    /// when the other page is to be begun.
    next: u32,
    /// None when nothing is readable.
    highest: Option<HorizonRecord>,
    /// Whether the page's head is firm: a record was begun behind it, or it was written since the boot.
    is_begun: bool,
    /// Whether the horizon, and the slot before the next, are known to be firm.
    is_firm: bool,
}

impl Journal {
    /// 0 when nothing is readable.
    pub(crate) const fn horizon(&self) -> u32 {
        match self.highest {
            Some(record) => record.unix_s(),
            None => 0,
        }
    }

    /// Whether there is nothing to write. A horizon that was only read may be torn: then the next one is written.
    pub(crate) const fn holds(&self, to: u32) -> bool {
        to <= self.horizon() && self.is_firm
    }

    /// The record to write for that, higher than all that was seen; none when it is past the last there is.
    pub(crate) fn record_for(&self, to: u32) -> Option<HorizonRecord> {
        HorizonRecord::new(to.max(self.horizon().wrapping_add(1)))
    }

    /// First, unless the horizon is firm: the head that has to be written once more, with the horizon's record, the only
    /// one in its page.
    pub(crate) const fn doubtful_head(&self, geometry: Geometry) -> Option<u32> {
        if self.is_begun {
            return None;
        }
        Some(geometry.page_of(geometry.before(self.next)))
    }

    /// That record.
    pub(crate) const fn record(&self) -> Option<HorizonRecord> {
        self.highest
    }

    pub(crate) const fn is_firm(&self) -> bool {
        self.is_firm
    }

    /// It was, and read back.
    pub(crate) const fn wrote_head(&mut self) {
        self.is_begun = true;
    }

    /// Second, unless it is firm: the slot that has to be marked. It is not tried again; if it fails, the next is to be
    /// marked. At the end of a page it is the last slot, until that is firm: then no boot finds room in this page any more.
    pub(crate) const fn take_doubtful(&mut self, geometry: Geometry) -> u32 {
        let at = self.next;
        if geometry.in_page(at) == 0 {
            return geometry.before(at);
        }
        self.next = geometry.after(at);
        at
    }

    /// Third: the slot for the record, and what has to be erased before. Nor is that tried again if it fails, but for
    /// the head of a page, which is erased again.
    pub(crate) const fn take_slot(&mut self, geometry: Geometry) -> (u32, Option<Range<u32>>) {
        let at = self.next;
        if geometry.in_page(at) != 0 {
            self.next = geometry.after(at);
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

    /// Last: the record was written there, and read back.
    pub(crate) const fn wrote(&mut self, geometry: Geometry, at: u32, record: HorizonRecord) {
        self.next = geometry.after(at);
        self.highest = Some(record);
        self.is_begun = true;
        self.is_firm = true;
    }
}

/// In which records are higher; a comparison of `Option`s takes more instructions.
fn order(record: Option<HorizonRecord>) -> u32 {
    record.map_or(0, |record| {
        let [word, _] = record.to_words();
        word
    })
}

const fn is_blank([first, second]: Words) -> bool {
    first & second == u32::MAX
}

/// Whether what is read back is good enough: a record faultless, but for a head, which cannot go elsewhere and shows its
/// record with a dead bit too; and of a mark, which is no record, one of its two bits.
pub(crate) fn is_written(
    geometry: Geometry,
    at: u32,
    record: Option<HorizonRecord>,
    shown: Words,
) -> bool {
    let Some(record) = record else {
        let [first, second] = shown;
        let [mark, other] = HorizonRecord::MARK;
        return first & second & !(mark & other) == 0;
    };
    shown == record.to_words()
        || geometry.in_page(at) == 0 && HorizonRecord::from_words(shown) == Some(record)
}
