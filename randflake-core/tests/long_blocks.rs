//! The longest blocks that a word of 32 bits counts, over a flash whose writes fail.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU32;

use randflake_core::{
    Blocks, FlashHorizonError, HorizonLog, HorizonStore, Lease, LeaseError, LogFlash, Randflake,
    Sequencer,
};

const PAGE: usize = 64;

/// Three pages, of which so many writes fail.
struct Flash {
    bytes: [u8; 3 * PAGE],
    failing: u32,
}

impl LogFlash for Flash {
    type Error = &'static str;

    fn page_bytes(&self) -> u32 {
        u32::try_from(PAGE).unwrap()
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap()
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error> {
        slot.copy_from_slice(&self.bytes[at as usize..][..slot.len()]);
        Ok(())
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error> {
        if let Some(left) = self.failing.checked_sub(1) {
            self.failing = left;
            return Err("failed");
        }
        self.bytes[at as usize..][..slot.len()].copy_from_slice(slot);
        Ok(())
    }

    fn erase(&mut self, page: u32) -> Result<(), Self::Error> {
        self.bytes[page as usize..][..PAGE].fill(0xff);
        Ok(())
    }
}

/// The log with its flash.
struct Device {
    flash: Flash,
    log: HorizonLog<8>,
}

impl HorizonStore for Device {
    type Error = FlashHorizonError<&'static str>;

    fn unix_s(&self) -> u32 {
        self.log.unix_s()
    }

    fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        self.log.raise(&mut self.flash, to)
    }
}

/// The block that a device begins after so many failed writes, each of which makes it 4 s longer.
fn block_after(failures: u32, seconds: u32) -> Lease<Randflake> {
    let grant = Lease::new(Randflake, 42, 1_001, 900_000).unwrap();
    let mut flash = Flash {
        bytes: [0xff; 3 * PAGE],
        failing: 0,
    };
    let log = HorizonLog::open(&mut flash).unwrap();
    let mut blocks = Blocks::new(grant, Device { flash, log }).with_block_s(seconds);
    blocks.provision().unwrap();
    // The next boot.
    let device = blocks.store_mut();
    device.log = HorizonLog::open(&mut device.flash).unwrap();
    device.flash.failing = failures;
    loop {
        if let Ok(block) = blocks.begin(None) {
            return block;
        }
    }
}

#[test]
fn longest_block_fits_32_bits_after_failed_writes() {
    let counted = |block: Lease<Randflake>| Sequencer::<_, AtomicU32>::new(block).map(drop);
    for failures in [0, 1, 16] {
        let block = block_after(failures, 32_700);
        assert!(
            block.ticks() > u64::from(failures * 4) + 32_696,
            "{block:?}"
        );
        assert_eq!(counted(block), Ok(()));
    }
    // All that a word counts leaves no room for what a store adds.
    let block = block_after(16, 32_767);
    let refused = counted(block).unwrap_err();
    assert!(matches!(refused, LeaseError::TooLong { .. }), "{refused}");
}
