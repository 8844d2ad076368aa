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

use super::NorHorizonError;

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
            // The head of page 0 is at address 0, so any other address is that of page 1's head, the second to be read.
            self.is_behind = self.at != 0;
            // First the head of page 0, then that of page 1, then the slots behind the higher of the two.
            self.at = if self.is_behind {
                self.geometry.after(self.last)
            } else {
                self.geometry.page_bytes
            };
            return;
        }
        // A slot that shows anything at all was touched, so it is never written again, be it a record or not.
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
            due: match (self.highest, self.is_begun) {
                // Nothing is in doubt: the first raise erases both pages.
                (None, _) => Due::Record,
                (Some(_), true) => Due::Mark,
                (Some(_), false) => Due::Head,
            },
            is_durable: self.highest.is_none(),
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
    /// What is certain of the slots before the next.
    due: Due,
    /// Whether the horizon was written since the boot. One that was only read may be torn.
    is_durable: bool,
}

/// What a raise writes next. The order is the proof at the top: each write is read back before the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Due {
    /// The head of the page again, as it may be torn.
    Head,
    /// A mark: the head is firm, and the slot before the next may be torn.
    Mark,
    /// The record: the slot before the next is firm.
    Record,
}

impl Journal {
    /// The horizon in Unix seconds, or 0 when no record is readable.
    pub(crate) const fn horizon(&self) -> u32 {
        match self.highest {
            Some(record) => record.unix_s(),
            None => 0,
        }
    }

    /// The record to write so that the horizon is at least `to`; `None` if it is, and is durable.
    ///
    /// # Errors
    ///
    /// `OutOfRange` past the last time that a record can hold.
    pub(crate) fn record_for<E>(
        &self,
        to: u32,
    ) -> Result<Option<HorizonRecord>, NorHorizonError<E>> {
        if to <= self.horizon() && self.is_durable {
            return Ok(None);
        }
        // Higher than all that were read, so that the records of a page rise in the order of its slots.
        let record = HorizonRecord::new(to.max(self.horizon().wrapping_add(1)));
        record.map(Some).ok_or(NorHorizonError::OutOfRange)
    }

    /// Whether the record is still to be written.
    pub(crate) fn lacks(&self, record: HorizonRecord) -> bool {
        self.highest != Some(record)
    }

    /// The next write for a record that the journal [lacks](Self::lacks). The slot counts as torn until
    /// [`wrote`](Self::wrote) confirms it, so a raise that fails or is dropped in between does no harm.
    pub(crate) fn next(&mut self, geometry: Geometry, record: HorizonRecord) -> SlotWrite {
        match self.due {
            Due::Head => SlotWrite {
                erase: None,
                // `next` may be the beginning of the other page already; the slot before it is in
                // this one.
                at: geometry.page_of(geometry.before(self.next)),
                record: self.highest,
            },
            Due::Mark => SlotWrite {
                erase: None,
                at: self.take_doubtful(geometry),
                record: None,
            },
            Due::Record => self.take_slot(geometry, record),
        }
    }

    /// The slot to mark. After a failure the following one is marked. At the end of a page it is the last slot, until
    /// that is firm: then no boot finds room in this page.
    const fn take_doubtful(&mut self, geometry: Geometry) -> u32 {
        let at = self.next;
        if geometry.in_page(at) == 0 {
            return geometry.before(at);
        }
        self.next = geometry.after(at);
        at
    }

    /// The slot for the new record. After a failure the next one is used; a head is erased and written again.
    const fn take_slot(&mut self, geometry: Geometry, record: HorizonRecord) -> SlotWrite {
        let at = self.next;
        if geometry.in_page(at) != 0 {
            self.next = geometry.after(at);
            // Until the write is confirmed: if it fails, the torn slot is marked before the next try.
            self.due = Due::Mark;
            return SlotWrite {
                erase: None,
                at,
                record: Some(record),
            };
        }
        // The end of the second page is the beginning of the first.
        let at = at & geometry.page_bytes;
        // What is unreadable now may be readable later: where there was no horizon, both pages are erased.
        let pages = if self.highest.is_none() { 2 } else { 1 };
        let end = at.wrapping_add(geometry.page_bytes.wrapping_mul(pages));
        SlotWrite {
            erase: Some(at..end),
            at,
            record: Some(record),
        }
    }

    /// Confirms a write by what the slot shows afterwards.
    ///
    /// # Errors
    ///
    /// `NotWritten` if the slot shows something else than was written.
    pub(crate) fn wrote<E>(
        &mut self,
        geometry: Geometry,
        record: HorizonRecord,
        write: &SlotWrite,
        shown: SlotWords,
    ) -> Result<(), NorHorizonError<E>> {
        if !write.is_done(geometry, shown) {
            return Err(NorHorizonError::NotWritten);
        }
        if write.record != Some(record) {
            self.due = match write.record {
                Some(_) => Due::Mark,
                None => Due::Record,
            };
            return Ok(());
        }
        self.next = geometry.after(write.at);
        self.highest = write.record;
        self.due = Due::Record;
        self.is_durable = true;
        Ok(())
    }
}

/// One write into a slot.
#[derive(Debug)]
pub(crate) struct SlotWrite {
    /// Range of addresses to erase first.
    pub(crate) erase: Option<Range<u32>>,
    /// Address of the slot in bytes.
    pub(crate) at: u32,
    /// Record to write; `None` for a mark.
    record: Option<HorizonRecord>,
}

impl SlotWrite {
    pub(crate) fn words(&self) -> SlotWords {
        self.record
            .map_or(HorizonRecord::MARK, HorizonRecord::to_words)
    }

    /// Whether the write succeeded, by what is read back. A record must be exact, except in a head: it has no other
    /// place, and shows its record in spite of one dead bit. Of a mark one of its two bits is enough.
    fn is_done(&self, geometry: Geometry, shown: SlotWords) -> bool {
        let Some(record) = self.record else {
            let [first, second] = shown;
            let [mark, other] = HorizonRecord::MARK;
            return first & second & !(mark & other) == 0;
        };
        shown == record.to_words()
            || geometry.in_page(self.at) == 0 && HorizonRecord::from_words(shown) == Some(record)
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
