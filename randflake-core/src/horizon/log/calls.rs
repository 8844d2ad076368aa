//! The calls of a log, once for both kinds of flash.

use super::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, Slot, is_within};
use crate::HorizonRecord;

// A macro, and not an async text that blocking callers poll once: that took 280 bytes more on a
// Cortex-M0.
macro_rules! calls {
    (
        $Flash:ident, [$($async:tt)?], [$($wait:tt)*],
        $open:ident, $raise:ident, $erase_ahead:ident, $begin:ident, $write:ident, $see:ident
    ) => {
        impl<const SLOT: usize> HorizonLog<SLOT> {
            /// Reads the horizon. Writes nothing.
            ///
            /// Reads two slots of each page, and at most `2 * log2(slots of a page)` of one. A slot
            /// that cannot be read counts as one that shows nothing.
            ///
            /// # Errors
            ///
            /// - [`TooSmall`](FlashHorizonError::TooSmall): fewer than three pages;
            /// - [`Version`](FlashHorizonError::Version): a page has another format;
            /// - [`Flash`](FlashHorizonError::Flash): the driver failed, and no record was
            ///   readable.
            pub $($async)? fn $open<F: $Flash>(
                flash: &mut F,
            ) -> Result<Self, FlashHorizonError<F::Error>> {
                let page_bytes = flash.page_bytes();
                // Two behind the first: by additions, since a Cortex-M0 has no instruction for a
                // product that saturates.
                if flash.capacity().saturating_sub(page_bytes) < page_bytes.saturating_add(page_bytes) {
                    return Err(FlashHorizonError::TooSmall);
                }
                let mut log = Self {
                    horizon: 0,
                    tried: 0,
                    // Where no page is sealed, the last, so that the first is begun.
                    kept: flash.capacity().wrapping_sub(page_bytes),
                    bad: u32::MAX,
                    next: 0,
                    head: 0,
                };
                let mut error = None;
                let mut highest = 0;
                let mut page = 0;
                while page < flash.capacity() {
                    let mut head = Self::$see(flash, page, &mut error)$($wait)*;
                    let seal = page.wrapping_add(Self::SLOT_BYTES);
                    let seal = Self::$see(flash, seal, &mut error)$($wait)*;
                    if HorizonRecord::is_of_later_version(seal) {
                        return Err(FlashHorizonError::Version(HorizonRecord::version_of(seal)));
                    }
                    // With a wrong bit, the head may be one that an erase has begun to raise, as
                    // then also its seal. Of a firm page only one bit changes.
                    if head & 1 != 0 && seal != HorizonRecord::SEAL.unix_s() {
                        head = 0;
                    }
                    if is_bad(head, seal) {
                        head = 0;
                        log.bad = page;
                    }
                    // A sealed page is before all others. The lowest bit of a horizon is 0.
                    let rank = head >> 1 | u32::from(seal | 1 == HorizonRecord::SEAL.unix_s() | 1) << 31;
                    if rank > highest {
                        highest = rank;
                        log.kept = page;
                    }
                    log.horizon = log.horizon.max(head);
                    page = page.wrapping_add(page_bytes);
                }
                // Behind no head, 0, nothing is a record, least of all a seal. Behind others, this
                // is as good as the head: both are a multiple of 4.
                let before_head = (highest << 1).wrapping_sub(1);
                // All slots up to the last record show one, and no later one was written, but for
                // one that may be torn: so halving finds the last. In a page whose erase was cut it
                // finds what it finds, and nothing depends on it.
                let mut low = log.kept.wrapping_add(Self::SLOT_BYTES);
                let mut step = 1 << 30;
                while step >= Self::SLOT_BYTES {
                    let at = low.wrapping_add(step);
                    let mut slot = at;
                    // Two slots, as one that has aged must not hide those behind it.
                    while at.wrapping_sub(log.kept) < page_bytes && at.wrapping_sub(slot) <= Self::SLOT_BYTES {
                        let record = Self::$see(flash, slot, &mut error)$($wait)*;
                        if is_within(record, before_head) {
                            log.horizon = log.horizon.max(record);
                            low = at;
                            break;
                        }
                        slot = slot.wrapping_sub(Self::SLOT_BYTES);
                    }
                    step >>= 1;
                }
                log.next = log.kept;
                // Without the bit that says that another one is wrong.
                log.horizon &= HorizonRecord::MAX_UNIX_S;
                log.tried = log.horizon;
                match error {
                    // It may not be blank at all.
                    Some(error) if log.horizon == 0 => Err(FlashHorizonError::Flash(error)),
                    _ => Ok(log),
                }
            }

            /// Raises the horizon durably, to at least `to`: see
            /// [`HorizonStore`](crate::HorizonStore).
            ///
            /// # Errors
            ///
            /// - [`OutOfRange`](FlashHorizonError::OutOfRange);
            /// - [`Flash`](FlashHorizonError::Flash) or
            ///   [`NotWritten`](FlashHorizonError::NotWritten): none of two pages could be written.
            pub $($async)? fn $raise<F: $Flash>(
                &mut self,
                flash: &mut F,
                to: u32,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                // What was only read may be torn, so it is written again.
                if to <= self.horizon && self.head != 0 {
                    return Ok(());
                }
                let mut pages = 2_u32;
                loop {
                    let record = HorizonRecord::new(to.max(self.tried.wrapping_add(1)))
                        .ok_or(FlashHorizonError::OutOfRange)?;
                    self.tried = record.unix_s();
                    let mut at = self.next;
                    // The slot counts as written from here on, even if the future is dropped.
                    let mut head = core::mem::take(&mut self.head);
                    let end = self.kept.wrapping_add(flash.page_bytes());
                    if head != 0 {
                        self.next = self.kept;
                    }
                    let written = if head != 0 && at != end && is_within(record.unix_s(), head) {
                        Self::$write(flash, at, record)$($wait)*
                    } else {
                        pages = pages.wrapping_sub(1);
                        let written = self.$begin(flash, record)$($wait)*;
                        head = record.unix_s();
                        at = self.kept.wrapping_add(Self::SLOT_BYTES);
                        written
                    };
                    match written {
                        // A page that failed only once may be marked, and the one that always fails
                        // not.
                        Err(_) if pages > 0 => self.bad = u32::MAX,
                        Err(error) => return Err(error),
                        Ok(()) => {
                            self.horizon = record.unix_s();
                            self.head = head;
                            self.next = at.wrapping_add(Self::SLOT_BYTES);
                            return Ok(());
                        }
                    }
                }
            }

            /// Begins the next page now, when there is time for its erase, if the current one has
            /// no room for so many raises. The horizon stays as it is.
            ///
            /// Does nothing before the first raise of a boot has answered, and nothing after a
            /// raise that failed: the next one begins a page. More raises than fill half a page
            /// count as so many, as each page that is left early is one erase more.
            ///
            /// # Errors
            ///
            /// As for a raise. The next raise begins a page, so nothing need be done.
            pub $($async)? fn $erase_ahead<F: $Flash>(
                &mut self,
                flash: &mut F,
                raises: u32,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                let page_bytes = flash.page_bytes();
                let left = self.kept.wrapping_add(page_bytes).wrapping_sub(self.next);
                let wanted = raises.saturating_mul(Self::SLOT_BYTES).min(page_bytes >> 1);
                // A page that has just been begun has room for half of it.
                if self.head == 0 || left >= wanted {
                    return Ok(());
                }
                // The last record again, which is above the head of its page. No other page can
                // show as much.
                let head = self.horizon;
                let record = HorizonRecord::new(head).ok_or(FlashHorizonError::OutOfRange)?;
                // As for a raise: from here on it has failed, even if the future is dropped.
                self.head = 0;
                self.next = self.kept;
                self.$begin(flash, record)$($wait)*?;
                self.head = head;
                self.next = self.kept.wrapping_add(Self::SLOT_BYTES).wrapping_add(Self::SLOT_BYTES);
                Ok(())
            }

            /// Begins the next page with a record.
            #[inline(never)]
            $($async)? fn $begin<F: $Flash>(
                &mut self,
                flash: &mut F,
                record: HorizonRecord,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                let mut page = self.next;
                loop {
                    page = page.wrapping_add(flash.page_bytes());
                    if page >= flash.capacity() {
                        page = 0;
                    }
                    // There is a third one.
                    if page != self.kept && page != self.bad {
                        break;
                    }
                }
                let erased = flash.erase(page)$($wait)*;
                // From here on this page is touched, and left if anything fails.
                self.next = page;
                erased?;
                Self::$write(flash, page, record)$($wait)*?;
                let seal = page.wrapping_add(Self::SLOT_BYTES);
                Self::$write(flash, seal, HorizonRecord::SEAL)$($wait)*?;
                self.kept = page;
                // Only now, as the new page is firm: an erase that is cut here tears nothing that
                // is needed.
                let mut other = 0;
                while other < flash.capacity() {
                    let head = Self::$see(flash, other, &mut None)$($wait)*;
                    // None, 0, is above all.
                    if other != page
                        && other != self.bad
                        && head.wrapping_sub(1) >= self.tried.wrapping_sub(1)
                        && let Err(error) = flash.erase(other)$($wait)*
                    {
                        // Where a chip verifies its erases, this fails for ever at one dead cell.
                        // It is in one of these slots at most; and where the mark was programmed,
                        // nothing else can show.
                        let seal = other.wrapping_add(Self::SLOT_BYTES);
                        _ = Self::$write(flash, other, HorizonRecord::BAD_PAGE)$($wait)*;
                        _ = Self::$write(flash, seal, HorizonRecord::BAD_PAGE)$($wait)*;
                        let head = Self::$see(flash, other, &mut None)$($wait)*;
                        if !is_bad(head, Self::$see(flash, seal, &mut None)$($wait)*) {
                            return Err(error.into());
                        }
                        self.bad = other;
                    }
                    other = other.wrapping_add(flash.page_bytes());
                }
                Ok(())
            }

            /// Writes a slot, and reads it back.
            #[inline(never)]
            $($async)? fn $write<F: $Flash>(
                flash: &mut F,
                at: u32,
                record: HorizonRecord,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                let mut slot = Slot::<SLOT>::of(record);
                flash.write(at, &slot.0)$($wait)*?;
                flash.read(at, &mut slot.0)$($wait)*?;
                if slot != Slot::of(record) {
                    return Err(FlashHorizonError::NotWritten);
                }
                Ok(())
            }

            /// The horizon that a slot shows, plus 1 if a bit of it is wrong; or 0.
            #[inline(never)]
            $($async)? fn $see<F: $Flash>(
                flash: &mut F,
                at: u32,
                error: &mut Option<F::Error>,
            ) -> u32 {
                let mut slot = Slot::<SLOT>([0; SLOT]);
                match flash.read(at, &mut slot.0)$($wait)* {
                    Ok(()) => slot.shown(),
                    Err(failure) => {
                        *error = Some(failure);
                        0
                    }
                }
            }
        }
    };
}

/// Whether a page is marked as bad by what its first two slots show, each perhaps with a wrong bit.
const fn is_bad(head: u32, seal: u32) -> bool {
    const MARK: u32 = HorizonRecord::BAD_PAGE.unix_s() | 1;
    // A head may be the number of the mark, as a counter of tickets passes every number: in front
    // of a seal it is a head.
    seal | 1 == MARK || head | 1 == MARK && seal | 1 != HorizonRecord::SEAL.unix_s() | 1
}

calls!(
    LogFlash,
    [],
    [],
    open,
    raise,
    erase_ahead,
    begin,
    write,
    see
);
calls!(
    AsyncLogFlash, [async], [.await],
    open_async, raise_async, erase_ahead_async, begin_async, write_async, see_async
);
