//! The horizon beside a program's own settings in `sequential-storage`, for flash with ECC (STM32G0, G4, L4, WB and
//! others), in which a word is written once: `NorHorizon` writes some twice.
//!
//! It takes about 8 kB of code, to the few hundred bytes of `NorHorizon`; a program that has `sequential-storage` anyway pays
//! that once. (`ekv` writes at most 4 bytes at once, and the words of these parts have 8.)
#![no_std]

use embassy_futures::block_on;
use embedded_storage_async::nor_flash::NorFlash;
use randflake_embedded::randflake_core::HorizonStore;
use sequential_storage::Error;
use sequential_storage::cache::CacheImpl;
use sequential_storage::map::MapStorage;

/// The horizon under one key of a map.
///
/// The map answers when an item is in flash, and after a power cut it shows the former item or the new one: so much a
/// [`HorizonStore`] asks for. Unlike `NorHorizon` it relies on the part to tell a blank word from one that was cut
/// while it was written: the map writes to what reads as blank.
pub struct MapHorizon<S: NorFlash, C: CacheImpl<u8>> {
    map: MapStorage<u8, S, C>,
    key: u8,
    horizon: u32,
}

/// For a key and a number, in whole words of the flash.
#[repr(align(8))]
struct Buffer([u8; 32]);

impl<S: NorFlash, C: CacheImpl<u8>> MapHorizon<S, C> {
    /// Reads the horizon. Without an item it is 0: never raised.
    ///
    /// # Errors
    ///
    /// The map's. The horizon is not known then, and no id may be issued; never erase the map for it.
    pub fn open(mut map: MapStorage<u8, S, C>, key: u8) -> Result<Self, Error<S::Error>> {
        let mut buffer = Buffer([0; 32]);
        let horizon = block_on(map.fetch_item(&mut buffer.0, &key))?.unwrap_or(0);
        Ok(Self { map, key, horizon })
    }

    /// The map, for the program's other keys.
    pub fn map(&mut self) -> &mut MapStorage<u8, S, C> {
        &mut self.map
    }
}

impl<S: NorFlash, C: CacheImpl<u8>> HorizonStore for MapHorizon<S, C> {
    type Error = Error<S::Error>;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        if to > self.horizon {
            let mut buffer = Buffer([0; 32]);
            block_on(self.map.store_item(&mut buffer.0, &self.key, &to))?;
            self.horizon = to;
        }
        Ok(())
    }
}
