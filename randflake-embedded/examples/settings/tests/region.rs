//! Settings and horizon in one region: each keeps what is its own, over boots and power cuts.

use core::cell::Cell;

use embassy_futures::block_on;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use randflake_embedded::FlashHorizon;
use randflake_embedded::randflake_core::{Blocks, Lease, Randflake};
use settings::{HORIZON_PAGES, divide};

const PAGES: u32 = 6;
const PAGE: usize = 512;

/// Flash that writes 4 bytes at once, once between two erases, and whose power is cut after so many
/// operations.
struct Ram {
    bytes: [u8; PAGES as usize * PAGE],
    left: Cell<u32>,
}

#[derive(Debug)]
struct Cut;

impl NorFlashError for Cut {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Ram {
    fn operation(&self) -> Result<(), Cut> {
        let left = self.left.get().checked_sub(1).ok_or(Cut)?;
        self.left.set(left);
        Ok(())
    }
}

impl ErrorType for Ram {
    type Error = Cut;
}

impl ReadNorFlash for Ram {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        bytes.copy_from_slice(&self.bytes[at as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Ram {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Cut> {
        self.operation()?;
        self.bytes[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    async fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Cut> {
        self.operation()?;
        let old = &mut self.bytes[at as usize..][..bytes.len()];
        assert!(old.iter().all(|byte| *byte == 0xff), "written over at {at}");
        old.copy_from_slice(bytes);
        Ok(())
    }
}

fn grant() -> Lease<Randflake> {
    Lease::new(Randflake, 42, 1_000, 300_000_000).unwrap()
}

/// Three boots in four end in a power cut, after one operation more each time.
#[test]
fn settings_and_horizon_survive_each_other() {
    let mut flash = Mutex::<NoopRawMutex, _>::new(Ram {
        bytes: [0xff; PAGES as usize * PAGE],
        left: Cell::new(u32::MAX),
    });
    let (_, pages) = divide(&flash, PAGES);
    let horizon = block_on(FlashHorizon::<_>::open_async(pages)).unwrap();
    block_on(Blocks::new(grant(), horizon).provision_async()).unwrap();

    let (mut used, mut kept) = (grant().start(), None);
    let (mut cuts, mut blocks_begun) = (0, 0);
    for boot in 0..4_000_u32 {
        let is_cut = boot % 4 != 0;
        let left = if is_cut { boot % 7 } else { u32::MAX };
        flash.get_mut().left.set(left);
        let (mut settings, pages) = divide(&flash, PAGES);
        let mut buffer = [0; 64];

        let stored: Option<u32> = block_on(settings.fetch_item(&mut buffer, &7)).unwrap();
        let former = boot.checked_sub(1);
        assert!(stored == kept || stored == former, "{boot}: {stored:?}");

        let horizon = block_on(FlashHorizon::<_>::open_async(pages)).unwrap();
        let mut blocks = Blocks::new(grant(), horizon);
        match block_on(blocks.begin_async(None)) {
            Ok(lease) => {
                assert!(lease.start() >= used, "{boot}");
                used = lease.end();
                blocks_begun += 1;
            }
            Err(error) => {
                assert!(is_cut, "{boot}: {error}");
                cuts += 1;
            }
        }
        if block_on(settings.store_item(&mut buffer, &7, &boot)).is_ok() {
            kept = Some(boot);
        } else {
            kept = stored;
        }
    }
    assert!(cuts > 500 && blocks_begun > 1_000, "{cuts} {blocks_begun}");
}

/// Neither reaches the pages of the other.
#[test]
fn parts_end_where_the_other_begins() {
    let flash = Mutex::<NoopRawMutex, _>::new(Ram {
        bytes: [0xff; PAGES as usize * PAGE],
        left: Cell::new(u32::MAX),
    });
    let (_, mut pages) = divide(&flash, PAGES);
    let size = HORIZON_PAGES * PAGE as u32;
    assert_eq!(pages.capacity(), size as usize);
    assert!(block_on(pages.erase(size, size + PAGE as u32)).is_err());
    assert!(block_on(pages.write(0, &[0; 8])).is_ok());
    let bytes = &block_on(flash.lock()).bytes;
    let (settings, horizon) = bytes.split_at(bytes.len() - size as usize);
    assert!(settings.iter().all(|byte| *byte == 0xff));
    assert_eq!(horizon[..8], [0; 8]);
}
