//! The two calls of a log, once for both kinds of flash.

use super::slot::Slot;
use super::{AsyncLogFlash, FlashHorizonError, HorizonLog, LogFlash, WINDOW_S};
use crate::HorizonRecord;

// A macro, and not an async text that blocking callers poll once: that took 280 bytes more on a Cortex-M0.
macro_rules! calls {
    (
        $Flash:ident, [$($async:tt)?], [$($wait:tt)*],
        $open:ident, $raise:ident, $write:ident, $see:ident
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
                if flash.capacity() < page_bytes.saturating_mul(3) {
                    return Err(FlashHorizonError::TooSmall);
                }
                let mut log = Self {
                    horizon: 0,
                    tried: 0,
                    // No page: where nothing is readable, all are erased.
                    kept: u32::MAX,
                    begun: last,
                    head: 0,
                    free: 0,
                };
                let mut error = None;
                let mut highest = 0;
                let mut page = 0;
                while page <= last {
                    let head = Self::$see(flash, page, &mut error)$($wait)*;
                    let mut low = page.wrapping_add(Self::SLOT_BYTES);
                    let seal = Self::$see(flash, low, &mut error)$($wait)*;
                    if let Some(seal) = seal
                        && seal != HorizonRecord::SEAL
                    {
                        return Err(FlashHorizonError::Version(seal.version()));
                    }
                    if let Some(head) = head {
                        log.horizon = log.horizon.max(head.unix_s());
                        // A sealed page is before all others. The lowest bit of a horizon is 0.
                        let mut rank = head.unix_s() >> 1;
                        // All slots up to the last record show one, and no later one was written, but for one that may
                        // be torn: so halving finds the last. In a page whose erase was cut it finds what it finds, and
                        // nothing depends on it.
                        let mut high = low;
                        if seal.is_some() {
                            rank |= 1 << 31;
                            high = page.wrapping_add(page_bytes);
                        }
                        while high.wrapping_sub(low) > Self::SLOT_BYTES {
                            let slots = high.wrapping_sub(low) / Self::SLOT_BYTES;
                            let middle = low.wrapping_add((slots >> 1).wrapping_mul(Self::SLOT_BYTES));
                            let mut at = middle;
                            loop {
                                let record = Self::$see(flash, at, &mut error)$($wait)*;
                                if let Some(record) = record
                                    && record.unix_s().wrapping_sub(head.unix_s()) < WINDOW_S
                                {
                                    log.horizon = log.horizon.max(record.unix_s());
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
                        if rank > highest {
                            highest = rank;
                            log.kept = page;
                            log.begun = page;
                        }
                    }
                    page = page.wrapping_add(page_bytes);
                }
                log.tried = log.horizon;
                match error {
                    // It may not be blank at all.
                    Some(error) if log.horizon == 0 => Err(FlashHorizonError::Flash(error)),
                    _ => Ok(log),
                }
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
                if to <= self.horizon && self.head != 0 {
                    return Ok(());
                }
                let mut pages = 2_u32;
                loop {
                    let record = HorizonRecord::new(to.max(self.tried.wrapping_add(1)));
                    let record = record.ok_or(FlashHorizonError::OutOfRange)?;
                    self.tried = record.unix_s();
                    // The slot counts as written from here on, even if the future is dropped.
                    let mut at = core::mem::take(&mut self.free);
                    let begins = at == 0 || self.tried.wrapping_sub(self.head) >= WINDOW_S;
                    if begins {
                        pages = pages.wrapping_sub(1);
                        at = self.next_page(flash.page_bytes(), flash.capacity());
                    }
                    match self.$write(flash, at, begins, record)$($wait)* {
                        Err(_) if pages > 0 => {}
                        written => return written,
                    }
                }
            }

            /// Writes a record, and the seal behind it if it begins a page.
            $($async)? fn $write<F: $Flash>(
                &mut self,
                flash: &mut F,
                to: u32,
                begins: bool,
                record: HorizonRecord,
            ) -> Result<(), FlashHorizonError<F::Error>> {
                let page_bytes = flash.page_bytes();
                if begins {
                    let mut page = 0;
                    while page < flash.capacity() {
                        let mut is_erased = page == to;
                        if self.head == 0 && page != to && page != self.kept {
                            let head = Self::$see(flash, page, &mut None)$($wait)*;
                            is_erased = head.is_none_or(|head| head >= record);
                        }
                        if is_erased {
                            flash.erase(page)$($wait)*?;
                        }
                        page = page.wrapping_add(page_bytes);
                    }
                    // From here on the page is touched, even if the future is dropped.
                    self.begun = to;
                }
                let mut at = to;
                let mut content = record;
                loop {
                    let slot = Slot::<SLOT>::of(content);
                    flash.write(at, &slot.0)$($wait)*?;
                    let mut shown = Slot::<SLOT>([0; SLOT]);
                    flash.read(at, &mut shown.0)$($wait)*?;
                    if slot != shown {
                        return Err(FlashHorizonError::NotWritten);
                    }
                    at = at.wrapping_add(Self::SLOT_BYTES);
                    if !begins || content == HorizonRecord::SEAL {
                        break;
                    }
                    content = HorizonRecord::SEAL;
                }
                if begins {
                    self.kept = to;
                    self.head = record.unix_s();
                }
                self.horizon = record.unix_s();
                if at != self.kept.wrapping_add(page_bytes) {
                    self.free = at;
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

calls!(LogFlash, [], [], open, raise, write, see);
calls!(AsyncLogFlash, [async], [.await], open_async, raise_async, write_async, see_async);
