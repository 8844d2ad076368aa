//! What a log asks of a flash.

use core::future::Future;

/// The flash of a [`HorizonLog`](crate::HorizonLog), by addresses from 0.
pub trait LogFlash {
    /// Error of the driver.
    type Error;

    /// Bytes that are erased at once: a multiple of a slot, and at least four of them.
    fn page_bytes(&self) -> u32;

    /// Bytes of all pages.
    fn capacity(&self) -> u32;

    /// Reads a slot. One that fails to be read, at each boot or only now, counts as torn.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes a slot of a page that was erased before.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error>;

    /// Erases the page that begins at an address.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn erase(&mut self, page: u32) -> Result<(), Self::Error>;
}

/// Async [`LogFlash`]. A future that is dropped before it completes counts as failed.
pub trait AsyncLogFlash {
    /// Error of the driver.
    type Error;

    /// Bytes that are erased at once: a multiple of a slot, and at least four of them.
    fn page_bytes(&self) -> u32;

    /// Bytes of all pages.
    fn capacity(&self) -> u32;

    /// Reads a slot. One that fails to be read, at each boot or only now, counts as torn.
    fn read(&mut self, at: u32, slot: &mut [u8]) -> impl Future<Output = Result<(), Self::Error>>;

    /// Writes a slot of a page that was erased before.
    fn write(&mut self, at: u32, slot: &[u8]) -> impl Future<Output = Result<(), Self::Error>>;

    /// Erases the page that begins at an address.
    fn erase(&mut self, page: u32) -> impl Future<Output = Result<(), Self::Error>>;
}
