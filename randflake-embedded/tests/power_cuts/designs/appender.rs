//! Self-complementing records, one behind the other, page after page.

use embedded_storage::nor_flash::NorFlash;
use randflake_core::HorizonStore;

use super::{number, slot_of};

#[derive(Debug)]
pub(super) struct Appender<F> {
    flash: F,
    horizon: u32,
    /// Where the next record goes, from 0 to the flash's end.
    next: usize,
}

impl<F: NorFlash> Appender<F> {
    /// Finds the highest record, and the place behind the last slot of its page that shows anything.
    pub(super) fn find(mut flash: F) -> Result<Self, F::Error> {
        let (mut horizon, mut next, mut end_of_page) = (0, 0, 0);
        for at in (0..2 * F::ERASE_SIZE).step_by(8) {
            let mut slot = [0; 8];
            flash.read(u32::try_from(at).unwrap(), &mut slot)?;
            let record = number(u64::from_le_bytes(slot));
            if record > horizon {
                horizon = record;
                end_of_page = (at / F::ERASE_SIZE + 1) * F::ERASE_SIZE;
            }
            if slot != [0xff; 8] && at < end_of_page {
                next = at + 8;
            }
        }
        Ok(Self {
            flash,
            horizon,
            next,
        })
    }

    pub(super) fn turn_page(&mut self) {
        self.next = self.next.next_multiple_of(F::ERASE_SIZE);
    }
}

impl<F: NorFlash> HorizonStore for Appender<F> {
    type Error = F::Error;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), F::Error> {
        if to <= self.horizon {
            return Ok(());
        }
        let at = u32::try_from(self.next % (2 * F::ERASE_SIZE)).unwrap();
        if self.next.is_multiple_of(F::ERASE_SIZE) {
            self.flash
                .erase(at, at + u32::try_from(F::ERASE_SIZE).unwrap())?;
        }
        self.flash.write(at, &slot_of(to))?;
        self.next = at as usize + 8;
        self.horizon = to;
        Ok(())
    }
}
