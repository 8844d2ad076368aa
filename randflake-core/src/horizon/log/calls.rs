//! The two calls of a log, once for both kinds of flash.

use super::slot::Slot;
use super::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, WINDOW_S};
use crate::HorizonRecord;

// A macro, and not an async text that blocking callers poll once: that took 280 bytes more on a Cortex-M0.
macro_rules! calls {
    (
        $Flash:ident, [$($async:tt)?], [$($wait:tt)*],
        $open:ident, $survey:ident, $raise:ident, $begin:ident, $write:ident, $see:ident
    ) => {
        impl<const SLOT: usize> HorizonLog<SLOT> {
            /// Reads the horizon. Writes nothing.
            ///
            /// Reads at most `2 + 2 * log2(slots of a page)` slots of each page. A slot that cannot be read counts as one
            /// that shows nothing.
            ///
            /// # Errors
            ///
            /// - [`TooSmall`](FlashHorizonError::TooSmall): fewer than three pages;
            /// - [`Version`](FlashHorizonError::Version): a page has another format;
            /// - [`Flash`](FlashHorizonError::Flash): the driver failed, and no record was readable.
            pub $($async)? fn $open<F: $Flash>(
                flash: &mut F,
            ) -> Result<Self, FlashHorizonError<F::Error>> {
                let page_bytes = flash.page_bytes();
                let last = flash.capacity().wrapping_sub(page_bytes);
                // Two behind the first: by additions, since a Cortex-M0 has no instruction for a product that saturates.
                if flash.capacity().saturating_sub(page_bytes) < page_bytes.saturating_add(page_bytes) {
                    return Err(FlashHorizonError::TooSmall);
                }
                let mut log = Self {
                    horizon: None,
                    tried: None,
                    // No page: where nothing is readable, all are erased.
                    kept: u32::MAX,
                    begun: last,
                    head: None,
                    free: 0,
                };
                let mut error = None;
                let mut highest = 0;
                let mut page = 0;
                while page <= last {
                    let rank = log.$survey(flash, page, &mut error)$($wait)*?;
                    if rank > highest {
                        highest = rank;
                        log.kept = page;
                        log.begun = page;
                    }
                    page = page.wrapping_add(page_bytes);
                }
                log.tried = log.horizon;
                match error {
                    // It may not be blank at all.
                    Some(error) if log.horizon.is_none() => Err(FlashHorizonError::Flash(error)),
                    _ => Ok(log),
                }
            }

            /// Takes the records of a page, and returns how much it is worth: a sealed page is before all others.
            $($async)? fn $survey<F: $Flash>(
                &mut self,
                flash: &mut F,
                page: u32,
                error: &mut Option<F::Error>,
            ) -> Result<u32, FlashHorizonError<F::Error>> {
                let head = Self::$see(flash, page, error)$($wait)*;
                let mut low = page.wrapping_add(Self::SLOT_BYTES);
                let seal = Self::$see(flash, low, error)$($wait)*;
                if let Some(seal) = seal
                    && seal != HorizonRecord::SEAL
                {
                    return Err(FlashHorizonError::Version(seal.version()));
                }
                let Some(head) = head else {
                    return Ok(0);
                };
                self.horizon = self.horizon.max(Some(head));
                // The lowest bit of a horizon is 0.
                let rank = head.unix_s() >> 1;
                if seal.is_none() {
                    return Ok(rank);
                }
                // All slots up to the last record show one, and no later one was written, but for one that may be torn: so
                // halving finds the last. In a page whose erase was cut it finds what it finds, and nothing depends on it.
                let mut high = page.wrapping_add(flash.page_bytes());
                while high.wrapping_sub(low) > Self::SLOT_BYTES {
                    let half = high.wrapping_sub(low) >> 1 & Self::SLOT_BYTES.wrapping_neg();
                    let middle = low.wrapping_add(half);
                    let mut at = middle;
                    loop {
                        let record = Self::$see(flash, at, error)$($wait)*;
                        if let Some(record) = record
                            && record.unix_s().wrapping_sub(head.unix_s()) < WINDOW_S
                        {
                            self.horizon = self.horizon.max(Some(record));
                            low = at;
                            break;
                        }
                        at = at.wrapping_add(Self::SLOT_BYTES);
                        // Two slots, as one that has aged must not hide those behind it.
                        if at == high || at.wrapping_sub(middle) > Self::SLOT_BYTES {
                            high = middle;
                            break;
                        }
                    }
                }
                Ok(rank | 1 << 31)
            }

            /// Raises the horizon durably, to at least `to`: see [`HorizonStore`](crate::HorizonStore).
            ///
            /// # Errors
            ///
            /// - [`OutOfRange`](FlashHorizonError::OutOfRange);
            /// - [`Flash`](FlashHorizonError::Flash) or [`NotWritten`](FlashHorizonError::NotWritten): none of two pages
            ///   could be written.
            pub $($async)? fn $raise<F: $Flash>(
                &mut self,
                flash: &mut F,
                to: u32,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                // What was only read may be torn, so it is written again.
                if to <= self.unix_s() && self.head.is_some() {
                    return Ok(());
                }
                let mut pages = 2_u32;
                loop {
                    let tried = self.tried.map_or(0, HorizonRecord::unix_s);
                    let record = HorizonRecord::new(to.max(tried.wrapping_add(1)));
                    let record = record.ok_or(FlashHorizonError::OutOfRange)?;
                    self.tried = Some(record);
                    // The slot counts as written from here on, even if the future is dropped.
                    let mut at = core::mem::take(&mut self.free);
                    let written = match self.head {
                        Some(head)
                            if at != 0
                                && record.unix_s().wrapping_sub(head.unix_s()) < WINDOW_S =>
                        {
                            Self::$write(flash, at, record)$($wait)*
                        }
                        _ => {
                            pages = pages.wrapping_sub(1);
                            let written = self.$begin(flash, record)$($wait)*;
                            at = self.kept.wrapping_add(Self::SLOT_BYTES);
                            written
                        }
                    };
                    match written {
                        Err(_) if pages > 0 => {}
                        Err(error) => return Err(error),
                        Ok(()) => {
                            self.horizon = Some(record);
                            at = at.wrapping_add(Self::SLOT_BYTES);
                            if at != self.kept.wrapping_add(flash.page_bytes()) {
                                self.free = at;
                            }
                            return Ok(());
                        }
                    }
                }
            }

            /// Begins the next page with a record.
            #[inline(never)]
            $($async)? fn $begin<F: $Flash>(
                &mut self,
                flash: &mut F,
                record: HorizonRecord,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                let mut next = self.begun;
                loop {
                    next = next.wrapping_add(flash.page_bytes());
                    if next >= flash.capacity() {
                        next = 0;
                    }
                    if next != self.kept {
                        break;
                    }
                }
                flash.erase(next)$($wait)*?;
                // From here on this page is touched, even if the future is dropped.
                self.begun = next;
                Self::$write(flash, next, record)$($wait)*?;
                let seal = next.wrapping_add(Self::SLOT_BYTES);
                Self::$write(flash, seal, HorizonRecord::SEAL)$($wait)*?;
                self.kept = next;
                self.head = Some(record);
                // Only now, as the new page is firm: an erase that is cut here tears nothing that is needed.
                let mut page = 0;
                while page < flash.capacity() {
                    let head = Self::$see(flash, page, &mut None)$($wait)*;
                    if page != next && head.is_none_or(|head| head >= record) {
                        flash.erase(page)$($wait)*?;
                    }
                    page = page.wrapping_add(flash.page_bytes());
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

            /// The record that a slot shows.
            #[inline(never)]
            $($async)? fn $see<F: $Flash>(
                flash: &mut F,
                at: u32,
                error: &mut Option<F::Error>,
            ) -> Option<HorizonRecord> {
                let mut slot = Slot::<SLOT>([0; SLOT]);
                match flash.read(at, &mut slot.0)$($wait)* {
                    Ok(()) => slot.record(),
                    Err(failure) => {
                        *error = Some(failure);
                        None
                    }
                }
            }
        }
    };
}

calls!(LogFlash, [], [], open, survey, raise, begin, write, see);
calls!(AsyncLogFlash, [async], [.await], open_async, survey_async, raise_async, begin_async, write_async, see_async);
