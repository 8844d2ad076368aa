//! Ours as it was: at each boot the horizon is written over the last slot that shows anything and the one behind it.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use randflake_core::HorizonStore;

use super::{number, slot_of};

#[derive(Debug)]
pub(super) struct Overwriter<F> {
    flash: F,
    /// Where the next record goes; at the end of a page, to the beginning of the other.
    next: usize,
    horizon: u32,
}

impl<F: MultiwriteNorFlash> Overwriter<F> {
    pub(super) fn open(mut flash: F) -> Result<Self, F::Error> {
        let mut horizon = 0;
        let (mut next, mut end) = (0, 0);
        for at in (0..2 * F::ERASE_SIZE).step_by(8) {
            let mut slot = [0; 8];
            flash.read(u32::try_from(at).unwrap(), &mut slot)?;
            let record = number(u64::from_le_bytes(slot));
            if record > horizon {
                horizon = record;
                (next, end) = (at, (at / F::ERASE_SIZE + 1) * F::ERASE_SIZE);
            } else if slot != [0xff; 8] && at < end {
                next = at;
            }
        }
        for _ in 0..2 {
            if next < end {
                flash.write(u32::try_from(next).unwrap(), &slot_of(horizon))?;
                next += 8;
            }
        }
        Ok(Self {
            flash,
            next,
            horizon,
        })
    }
}

impl<F: MultiwriteNorFlash> HorizonStore for Overwriter<F> {
    type Error = F::Error;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), F::Error> {
        if to <= self.horizon {
            return Ok(());
        }
        let mut at = self.next;
        if at.is_multiple_of(F::ERASE_SIZE) {
            at %= 2 * F::ERASE_SIZE;
            let end = at + F::ERASE_SIZE;
            self.flash
                .erase(u32::try_from(at).unwrap(), u32::try_from(end).unwrap())?;
        } else {
            // If it fails, the next try begins the other page: it is not known what was touched.
            self.next = self.next.next_multiple_of(F::ERASE_SIZE);
        }
        self.flash.write(u32::try_from(at).unwrap(), &slot_of(to))?;
        self.next = at + 8;
        self.horizon = to;
        Ok(())
    }
}
