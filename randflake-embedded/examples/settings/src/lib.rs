//! Settings and a horizon in one region of flash: `sequential-storage` has the first pages, the
//! horizon the last ones.
//!
//! Each writes and erases its own pages only, and both go through one driver: a mutex lends it to
//! one at a time, and a partition adds where its pages begin. So a power cut in one leaves the
//! other as it is.
#![no_std]

use embassy_embedded_hal::flash::partition::Partition;
use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

/// The pages of the horizon, at the end of the region.
pub const HORIZON_PAGES: u32 = 3;

type NoCache = Cache<Uncached, Uncached, Uncached, u8>;

/// Settings by their numbers.
pub type Settings<'a, M, F> = MapStorage<u8, Part<'a, M, F>, NoCache>;

/// A part of the region, with a flash of its own.
pub type Part<'a, M, F> = Partition<'a, M, F>;

/// Divides a region of at least five pages into settings and the pages of the horizon, for
/// `open_async` of its store.
///
/// # Panics
///
/// If the region is smaller.
pub fn divide<M: RawMutex, F: NorFlash>(
    flash: &Mutex<M, F>,
    pages: u32,
) -> (Settings<'_, M, F>, Part<'_, M, F>) {
    let page = F::ERASE_SIZE as u32;
    let settings = (pages - HORIZON_PAGES) * page;
    let storage = MapStorage::new(
        Partition::new(flash, 0, settings),
        MapConfig::new(0..settings),
        Cache::new_uncached(),
    );
    let horizon = Partition::new(flash, settings, HORIZON_PAGES * page);
    (storage, horizon)
}
