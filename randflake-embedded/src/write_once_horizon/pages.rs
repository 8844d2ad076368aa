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

use crate::NorHorizonError;

/// Sizes of a page: in bytes, and in slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    pub(super) bytes: u32,
    pub(super) slot_bytes: u32,
    /// At least 2. A field, because a processor without division takes some 400 bytes of code to compute it.
    pub(super) slots: u32,
}

/// The pages as a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) page_size: PageSize,
    pub(super) pages: u32,
}

impl Ring {
    const fn start(self, page: u32) -> u32 {
        page.wrapping_mul(self.page_size.bytes)
    }

    const fn after(self, page: u32) -> u32 {
        let next = page.wrapping_add(1);
        if next < self.pages { next } else { 0 }
    }
}

/// One slot of a page, or two neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRange {
    ring: Ring,
    page: u32,
    from: u32,
    until: u32,
}

impl SlotRange {
    pub(super) fn addresses(self) -> impl Iterator<Item = u32> {
        let slot_bytes = self.ring.page_size.slot_bytes;
        let start = self.ring.start(self.page);
        (self.from..self.until).map(move |slot| start.wrapping_add(slot.wrapping_mul(slot_bytes)))
    }
}

/// Finds at boot the highest record and the page to keep. Reads both heads of each page, and then some of its slots.
#[derive(Debug)]
pub(super) struct Survey {
    ring: Ring,
    highest: Option<HorizonRecord>,
    /// The page that is kept: whether it shows its head twice, and the head.
    kept: Option<(bool, HorizonRecord)>,
    kept_page: u32,
    /// The page to read now.
    page: u32,
    /// `None` until its heads were read.
    search: Option<Bisection>,
}

/// Search of a page for its last record: the last slot known to show one, and the first known to show none.
///
/// In a page that was begun and not erased since, all slots up to some slot show records, the one behind it may, and
/// no later one was touched: so halving finds the last. It looks at two slots each time, as one that has aged must not
/// hide those behind it. In a page whose erase was cut it finds whatever it finds, and nothing depends on it.
#[derive(Clone, Copy, Debug)]
struct Bisection {
    low: u32,
    high: u32,
}

impl Bisection {
    const fn middle(self) -> u32 {
        self.low
            .wrapping_add(self.high.wrapping_sub(self.low).wrapping_div(2))
    }
}

impl Survey {
    pub(super) const fn new(ring: Ring) -> Self {
        Self {
            ring,
            highest: None,
            kept: None,
            kept_page: 0,
            page: 0,
            search: None,
        }
    }

    /// The slots to read next, or `None` after the last page.
    pub(super) fn next(&self) -> Option<SlotRange> {
        let from = self.search.map_or(0, Bisection::middle);
        let until = from.wrapping_add(2).min(self.ring.page_size.slots);
        (self.page < self.ring.pages).then_some(SlotRange {
            ring: self.ring,
            page: self.page,
            from,
            until,
        })
    }

    /// Takes what the slots of [`next`](Self::next) show.
    pub(super) fn saw(&mut self, [first, second]: [Option<HorizonRecord>; 2]) {
        self.highest = self.highest.max(first).max(second);
        let search = match self.search {
            None => {
                let page = first.map(|head| (second.is_some(), head));
                // A page with its head twice is complete and beats any with one, whatever the record: `true` sorts
                // last.
                if page > self.kept {
                    (self.kept, self.kept_page) = (page, self.page);
                }
                // Without the second copy of its head the page was not completely begun, and no later slot is trusted.
                second.map(|_| Bisection {
                    // The second slot is known to show a record, so the search begins with it and
                    // not with the head.
                    low: 1,
                    high: self.ring.page_size.slots,
                })
            }
            Some(Bisection { low, high }) => {
                let middle = Bisection { low, high }.middle();
                Some(match (first, second) {
                    (None, None) => Bisection { low, high: middle },
                    (_, None) => Bisection { low: middle, high },
                    (_, Some(_)) => Bisection {
                        low: middle.wrapping_add(1),
                        high,
                    },
                })
            }
        };
        self.search = search.filter(|search| search.high > search.low.wrapping_add(1));
        if self.search.is_none() {
            self.page = self.page.wrapping_add(1);
        }
    }

    pub(super) fn pages(self) -> Pages {
        let ring = self.ring;
        Pages {
            ring,
            highest: self.highest,
            // Behind the kept page: what is erased next is the page that was kept longest ago.
            page: self.kept.map_or(0, |_| ring.after(self.kept_page)),
            slot: 0,
            // Seen, but perhaps torn: the first raise writes a higher one.
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

/// What a raise writes: the same record in one slot, or in the first two of a page that it begins.
#[derive(Clone, Debug)]
pub(super) struct RecordWrite {
    /// Range of addresses to erase first.
    pub(super) erase: Option<Range<u32>>,
    pub(super) slots: SlotRange,
    pub(super) record: HorizonRecord,
}

impl Pages {
    /// The horizon in Unix seconds, or 0 when no record is readable.
    pub(super) const fn horizon(&self) -> u32 {
        match self.highest {
            Some(record) => record.unix_s(),
            None => 0,
        }
    }

    /// The write that raises the horizon to at least `to`; `None` if that is done. A horizon that was only read may be
    /// torn, so it is written again. Unless the write is confirmed by [`wrote`](Self::wrote), the next one begins a
    /// page: a slot that was touched is never written again.
    ///
    /// # Errors
    ///
    /// `OutOfRange` past the last time that a record can hold.
    pub(super) fn raise<E>(&mut self, to: u32) -> Result<Option<RecordWrite>, NorHorizonError<E>> {
        if to <= self.horizon() && self.is_durable {
            return Ok(None);
        }
        // Higher than all that were read: the heads order the pages.
        let record = HorizonRecord::new(to.max(self.horizon().wrapping_add(1)));
        let record = record.ok_or(NorHorizonError::OutOfRange)?;
        let (page, from) = (self.page, self.slot);
        let slots = |until| SlotRange {
            ring: self.ring,
            page,
            from,
            until,
        };
        let (erase, slots) = if from == 0 {
            (Some(self.erased_first()), slots(2))
        } else {
            (None, slots(from.wrapping_add(1)))
        };
        // The slot counts as touched from here on, even if the caller never writes it.
        if from != 0 {
            self.begin_next();
        }
        Ok(Some(RecordWrite {
            erase,
            slots,
            record,
        }))
    }

    /// The page to begin; all pages where no horizon is readable, as a torn record may be at a later boot.
    const fn erased_first(&self) -> Range<u32> {
        if self.highest.is_none() {
            return 0..self.ring.start(self.ring.pages);
        }
        let start = self.ring.start(self.page);
        start..start.wrapping_add(self.ring.page_size.bytes)
    }

    const fn begin_next(&mut self) {
        self.page = self.ring.after(self.page);
        self.slot = 0;
    }

    /// Notes that the record was written and read back.
    pub(super) const fn wrote(&mut self, write: &RecordWrite) {
        (self.page, self.slot) = (write.slots.page, write.slots.until);
        // Full: the next record begins a page, which costs an erase.
        if self.slot >= self.ring.page_size.slots {
            self.begin_next();
        }
        self.highest = Some(write.record);
        self.is_durable = true;
    }
}
