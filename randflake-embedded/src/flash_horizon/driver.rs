//! Drivers of both kinds as the flash of a log.

use embedded_storage::nor_flash::NorFlash;
use embedded_storage_async::nor_flash::NorFlash as AsyncNorFlash;
use randflake_core::{AsyncLogFlash, LogFlash};

/// A driver whose calls block.
pub(super) struct Blocking<'a, F>(pub(super) &'a mut F);

/// A driver that is awaited.
pub(super) struct Awaited<'a, F>(pub(super) &'a mut F);

#[expect(clippy::cast_possible_truncation, reason = "at most 2^30")]
const fn page_bytes(erase_size: usize) -> u32 {
    erase_size as u32
}

/// Bytes of the whole pages below 2^32: addresses have 32 bits in `embedded-storage`. A page that the driver has only a part
/// of could never be erased, and no page behind it be begun.
#[inline]
fn capacity(bytes: usize, erase_size: usize) -> u32 {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let rest = bytes.checked_rem(page_bytes(erase_size));
    bytes.wrapping_sub(rest.unwrap_or(0))
}

impl<F: NorFlash> LogFlash for Blocking<'_, F> {
    type Error = F::Error;

    #[inline]
    fn page_bytes(&self) -> u32 {
        page_bytes(F::ERASE_SIZE)
    }

    #[inline]
    fn capacity(&self) -> u32 {
        capacity(self.0.capacity(), F::ERASE_SIZE)
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), F::Error> {
        self.0.read(at, slot)
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), F::Error> {
        self.0.write(at, slot)
    }

    fn erase(&mut self, page: u32) -> Result<(), F::Error> {
        self.0.erase(page, page.wrapping_add(self.page_bytes()))
    }
}

impl<F: AsyncNorFlash> AsyncLogFlash for Awaited<'_, F> {
    type Error = F::Error;

    fn page_bytes(&self) -> u32 {
        page_bytes(F::ERASE_SIZE)
    }

    fn capacity(&self) -> u32 {
        capacity(self.0.capacity(), F::ERASE_SIZE)
    }

    async fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), F::Error> {
        self.0.read(at, slot).await
    }

    async fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), F::Error> {
        self.0.write(at, slot).await
    }

    async fn erase(&mut self, page: u32) -> Result<(), F::Error> {
        let end = page.wrapping_add(self.page_bytes());
        self.0.erase(page, end).await
    }
}
