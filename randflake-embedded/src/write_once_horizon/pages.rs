//! Decides which page is in use and which is erased next. Pure: it is given what slots show; the callers do the
//! I/O, blocking or async.
//!
//! ```text
//! page | head | the head again | record | record | ...     records rise
//! ```
//!
//! What a power cut leaves of a write or an erase is *torn*: it shows its former record, its new one or none, and may show
//! another of these at each boot. A word that is torn and shows none looks like one that was never written, and must not
//! be written again. So each boot that writes begins a page, the next in the ring:
//!
//! 1. It erases the page, writes its record into the first slot and then into the second, and only then answers. The
//!    record is higher than all that was seen, so it orders the pages. Later records go behind it, each into a slot that
//!    nobody touched since this boot's erase; after a failure the next page is begun.
//! 2. A second slot that shows a record says that the first is complete, for it was written later. Of the pages with
//!    both, that with the highest head is *kept*, and the one behind it is the next to be erased.
//! 3. The horizon is the highest record that is seen anywhere: one in a page that was never answered from was tried.
//!
//! The crate's `DESIGN.md` says what that stands, and why no choice of pages stands more.

use core::ops::Range;

use randflake_core::HorizonRecord;

/// The pages as a ring, with their sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) page_bytes: u32,
    pub(super) slot_bytes: u32,
    pub(super) pages: u32,
}

impl Ring {
    const fn slots(self) -> u32 {
        match self.page_bytes.checked_div(self.slot_bytes) {
            Some(slots) => slots,
            None => 0,
        }
    }

    pub(super) const fn start(self, page: u32) -> u32 {
        page.wrapping_mul(self.page_bytes)
    }

    const fn at(self, page: u32, slot: u32) -> u32 {
        self.start(page)
            .wrapping_add(slot.wrapping_mul(self.slot_bytes))
    }

    const fn after(self, page: u32) -> u32 {
        let next = page.wrapping_add(1);
        if next < self.pages { next } else { 0 }
    }
}

/// The records of two neighbouring slots.
pub(super) type SlotPair = [Option<HorizonRecord>; 2];

/// Finds the last record of a page by bisection.
///
/// In a page that was begun and not erased since, all slots up to some slot show records, the one behind it may, and
/// no later one was touched: so halving finds the last. It looks at two slots each time, as one that has aged must not
/// hide those behind it. In a page whose erase was cut it finds whatever it finds, and nothing depends on it.
#[derive(Debug)]
pub(super) struct PageScan {
    ring: Ring,
    page: u32,
    head: Option<HorizonRecord>,
    highest: Option<HorizonRecord>,
    /// Bounds of the bisection: the last slot known to show a record, and the first known to show none.
    low: u32,
    high: u32,
}

impl PageScan {
    pub(super) fn new(ring: Ring, page: u32, [head, again]: SlotPair) -> Self {
        Self {
            ring,
            page,
            head,
            highest: head.max(again),
            low: 1,
            // Without the second copy of the head the page was not completely begun: no later slot is trusted, so
            // nothing is searched.
            high: if again.is_some() { ring.slots() } else { 0 },
        }
    }

    /// Address of the next two slots to read, and whether the second is within the page; `None` when the bisection
    /// has ended.
    pub(super) const fn next(&self) -> Option<(u32, bool)> {
        if self.high <= self.low.wrapping_add(1) {
            return None;
        }
        let slot = self.middle();
        let has_second = slot.wrapping_add(1) < self.ring.slots();
        Some((self.ring.at(self.page, slot), has_second))
    }

    /// Takes what the slots at [`next`](Self::next) show.
    pub(super) fn saw(&mut self, [one, other]: SlotPair) {
        let slot = self.middle();
        self.highest = self.highest.max(one).max(other);
        match (one, other) {
            (None, None) => self.high = slot,
            (_, None) => self.low = slot,
            (_, Some(_)) => self.low = slot.wrapping_add(1),
        }
    }

    const fn middle(&self) -> u32 {
        self.low
            .wrapping_add(self.high.wrapping_sub(self.low).wrapping_div(2))
    }
}

/// Summary of all pages at boot: the highest record, and the page to keep.
#[derive(Debug, Default)]
pub(super) struct Survey {
    highest: Option<HorizonRecord>,
    /// The page that is kept: whether it shows its head twice, and the head.
    kept: Option<(bool, HorizonRecord)>,
    page: u32,
}

impl Survey {
    pub(super) fn saw(&mut self, scan: &PageScan) {
        self.highest = self.highest.max(scan.highest);
        let page = scan.head.map(|head| (scan.high != 0, head));
        // A page with its head twice is complete and beats any with one, whatever the record: `true` sorts last.
        if page > self.kept {
            (self.kept, self.page) = (page, scan.page);
        }
    }

    pub(super) fn pages(self, ring: Ring) -> Pages {
        Pages {
            ring,
            highest: self.highest,
            page: self.kept.map_or(0, |_| ring.after(self.page)),
            slot: 0,
            is_durable: false,
        }
    }
}

/// State of the ring: where the next record goes.
#[derive(Debug)]
pub(super) struct Pages {
    ring: Ring,
    /// `None` when no record is readable.
    highest: Option<HorizonRecord>,
    page: u32,
    /// Next slot, or 0 when the page is still to be begun.
    slot: u32,
    /// Whether the horizon was written or made certain since the boot.
    is_durable: bool,
}

/// Where one record goes: first `erase`, then the same record in slots `from..until`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordSlots {
    page: u32,
    from: u32,
    until: u32,
    ring: Ring,
    erases_all: bool,
}

impl Pages {
    /// The horizon in Unix seconds, or 0 when no record is readable.
    pub(super) const fn horizon(&self) -> u32 {
        match self.highest {
            Some(record) => record.unix_s(),
            None => 0,
        }
    }

    /// Whether the horizon is at least `to` and durable. One that was only read may be torn, so it is written
    /// again.
    pub(super) const fn holds(&self, to: u32) -> bool {
        to <= self.horizon() && self.is_durable
    }

    /// The record for `to`, higher than all that were read; `None` past the last one that can be stored.
    pub(super) fn record_for(&self, to: u32) -> Option<HorizonRecord> {
        HorizonRecord::new(to.max(self.horizon().wrapping_add(1)))
    }

    /// Reserves the place of the next record. Unless it is confirmed by [`wrote`](Self::wrote), the slot counts as
    /// touched, and the next try begins a page.
    pub(super) const fn take_place(&mut self) -> RecordSlots {
        let place = RecordSlots {
            page: self.page,
            from: self.slot,
            until: if self.slot == 0 {
                2
            } else {
                self.slot.wrapping_add(1)
            },
            ring: self.ring,
            // No horizon is readable now, but a torn record may be at a later boot.
            erases_all: self.highest.is_none(),
        };
        if self.slot != 0 {
            self.begin_next();
        }
        place
    }

    const fn begin_next(&mut self) {
        self.page = self.ring.after(self.page);
        self.slot = 0;
    }

    /// Notes that the record was written there and read back.
    pub(super) const fn wrote(&mut self, place: RecordSlots, record: HorizonRecord) {
        (self.page, self.slot) = (place.page, place.until);
        if self.slot >= self.ring.slots() {
            self.begin_next();
        }
        self.highest = Some(record);
        self.is_durable = true;
    }
}

impl RecordSlots {
    /// Range to erase before writing, if the record begins a page.
    pub(super) fn erase(self) -> Option<Range<u32>> {
        if self.from != 0 {
            return None;
        }
        if self.erases_all {
            return Some(0..self.ring.start(self.ring.pages));
        }
        let start = self.ring.start(self.page);
        Some(start..start.wrapping_add(self.ring.page_bytes))
    }

    /// Addresses to write, in this order.
    pub(super) fn slots(self) -> impl Iterator<Item = u32> {
        (self.from..self.until).map(move |slot| self.ring.at(self.page, slot))
    }
}
