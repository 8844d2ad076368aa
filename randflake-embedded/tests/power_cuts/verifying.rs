//! A driver that reads back what it wrote, and fails for a cell that cannot be written.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use randflake_core::HorizonStore;
use randflake_embedded::NorHorizon;

use crate::worn::Flash;

const PAGE: usize = 32;

struct Verifying(Flash<4, PAGE>);

impl ErrorType for Verifying {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Verifying {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl NorFlash for Verifying {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        self.0.erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write(offset, bytes)?;
        let mut shown = vec![0; bytes.len()];
        self.0.read(offset, &mut shown)?;
        let is_written = shown
            .iter()
            .zip(bytes)
            .all(|(shown, wanted)| shown & !wanted == 0);
        is_written.then_some(()).ok_or(NorFlashErrorKind::Other)
    }
}

impl MultiwriteNorFlash for Verifying {}

/// Wherever the cell is, a raise that fails is followed by one that does not, in this boot or the next.
#[test]
fn one_cell_that_cannot_be_written_stops_no_device() {
    for cell in 0..2 * PAGE * 8 {
        let mut flash = Verifying(Flash::new(1, 0));
        flash.0.kill(cell);
        flash.0.boot(u32::MAX - 1);
        let (mut horizon, mut failed) = (0, 0);
        for boot in 0..40 {
            let mut store = NorHorizon::<_>::open(&mut flash).unwrap();
            assert!(store.unix_s() >= horizon, "cell {cell}: forgotten");
            for _ in 0..boot % 4 {
                match store.raise(store.unix_s() + 1_000_003) {
                    Ok(()) => (horizon, failed) = (store.unix_s(), 0),
                    Err(_) => failed += 1,
                }
                assert!(failed < 2, "cell {cell}, boot {boot}");
            }
        }
    }
}
