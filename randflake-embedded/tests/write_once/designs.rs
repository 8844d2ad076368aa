//! What the model tries to break: ours, and some that look as if they would do.

use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};
use randflake_core::{HorizonRecord, HorizonStore};
use randflake_embedded::WriteOnceHorizon;

use crate::flash::Flash;

pub(crate) const SLOTS: u32 = 3;
/// Pages of three slots: a head, the same again, and one record behind it.
pub(crate) type Small = Flash<8, 8, { 8 * SLOTS as usize }>;

/// A way to keep a horizon in the flash; `None` when it does not know it.
pub(crate) trait Design {
    fn open(flash: &mut Small) -> Option<impl HorizonStore>;
}

pub(crate) struct Ours;

impl Design for Ours {
    fn open(flash: &mut Small) -> Option<impl HorizonStore> {
        WriteOnceHorizon::<_>::open(flash).ok()
    }
}

/// Begins a page at each boot, too: answers after its record stands there `HEADS` times, and takes a page for one
/// that was answered from that shows it `SHOWN` times.
pub(crate) struct Planted<const HEADS: u32, const SHOWN: u32>;

impl<const HEADS: u32, const SHOWN: u32> Design for Planted<HEADS, SHOWN> {
    fn open(flash: &mut Small) -> Option<impl HorizonStore> {
        let mut horizon = 0;
        let mut kept = (0, flash.pages - 1);
        for page in 0..flash.pages {
            let shown = [0, 1, 2].map(|slot| read(flash, page * SLOTS + slot));
            horizon = shown.into_iter().fold(horizon, u32::max);
            if shown[..SHOWN as usize].iter().all(|record| *record > 0) {
                kept = kept.max((shown[0], page));
            }
        }
        let next = (kept.1 + 1) % flash.pages * SLOTS;
        Some(Appender {
            flash,
            horizon,
            next,
            heads: HEADS,
        })
    }
}

struct Appender<'a> {
    flash: &'a mut Small,
    horizon: u32,
    next: u32,
    heads: u32,
}

fn read(flash: &mut Small, slot: u32) -> u32 {
    let mut bytes = [0; 8];
    let read = flash.read(slot * 8, &mut bytes);
    let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let record = HorizonRecord::from_words([word(0), word(4)]);
    record.map_or(0, |record| read.map_or(0, |()| record.unix_s()))
}

impl HorizonStore for Appender<'_> {
    type Error = ();

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), ()> {
        let record = HorizonRecord::new(to).ok_or(())?;
        let mut times = 1;
        if self.next.is_multiple_of(SLOTS) {
            self.next %= self.flash.pages * SLOTS;
            let page = self.next * 8;
            self.flash.erase(page, page + SLOTS * 8).map_err(drop)?;
            times = self.heads;
        }
        for _ in 0..times {
            let write = self.flash.write(self.next * 8, &record.to_bytes());
            write.map_err(drop)?;
            self.next += 1;
        }
        self.horizon = to;
        Ok(())
    }
}
