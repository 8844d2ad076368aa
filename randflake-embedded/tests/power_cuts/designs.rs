//! What the model tries to break: ours, and two that look as if they would do.

use embedded_storage::nor_flash::{NorFlash, NorFlashErrorKind, ReadNorFlash};
use randflake_core::HorizonStore;
use randflake_embedded::NorHorizon;

use crate::flash::{Flash, PAGE};

type Result<T> = core::result::Result<T, NorFlashErrorKind>;

/// A way to keep a horizon in the flash.
pub(crate) trait Design {
    type Opened<'a>: HorizonStore<Error = NorFlashErrorKind>;

    fn open(flash: &mut Flash) -> Result<Self::Opened<'_>>;
}

pub(crate) struct Ours;

impl Design for Ours {
    type Opened<'a> = NorHorizon<&'a mut Flash>;

    fn open(flash: &mut Flash) -> Result<Self::Opened<'_>> {
        NorHorizon::open(flash)
    }
}

/// Takes a slot that shows nothing for one that was never touched.
pub(crate) struct TrustsBlankSlots;

impl Design for TrustsBlankSlots {
    type Opened<'a> = Appender<'a>;

    fn open(flash: &mut Flash) -> Result<Appender<'_>> {
        Appender::find(flash)
    }
}

/// Begins a page at each boot, so that no doubtful slot is written; but takes a record that reads well for
/// one that was written to its end, and erases the page that has the one before.
pub(crate) struct TrustsRecords;

impl Design for TrustsRecords {
    type Opened<'a> = Appender<'a>;

    fn open(flash: &mut Flash) -> Result<Appender<'_>> {
        let mut appender = Appender::find(flash)?;
        appender.next = appender.next.next_multiple_of(PAGE);
        Ok(appender)
    }
}

/// Appends the same self-complementing records, page after page.
pub(crate) struct Appender<'a> {
    flash: &'a mut Flash,
    horizon: u32,
    /// Where the next record goes, from 0 to the flash's end.
    next: usize,
}

impl<'a> Appender<'a> {
    /// Finds the highest record, and the place behind the last slot of its page that shows anything.
    fn find(flash: &'a mut Flash) -> Result<Self> {
        let (mut horizon, mut next, mut end_of_page) = (0, 0, 0);
        for at in (0..2 * PAGE).step_by(8) {
            let mut slot = [0; 8];
            flash.read(u32::try_from(at).unwrap(), &mut slot)?;
            let half = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().unwrap());
            let record = half(0);
            if record == !half(4) && record > horizon {
                horizon = record;
                end_of_page = (at / PAGE + 1) * PAGE;
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
}

impl HorizonStore for Appender<'_> {
    type Error = NorFlashErrorKind;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<()> {
        let at = u32::try_from(self.next % (2 * PAGE)).unwrap();
        if self.next.is_multiple_of(PAGE) {
            self.flash.erase(at, at + u32::try_from(PAGE).unwrap())?;
        }
        let record = [to.to_le_bytes(), (!to).to_le_bytes()];
        self.flash.write(at, record.as_flattened())?;
        self.next = at as usize + 8;
        self.horizon = to;
        Ok(())
    }
}
