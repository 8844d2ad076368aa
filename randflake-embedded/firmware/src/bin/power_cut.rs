//! Issues ids past a horizon in flash for as long as there is power, and says each: `virt` with a
//! pflash that is a file. `cargo xtask qemu` kills it, starts it again, and compares what was said.
//! The clock is stuck.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::ptr::with_exposed_provenance_mut;
use core::time::Duration;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use randflake_embedded::FlashHorizon;
use randflake_embedded::randflake_core::{
    Blocks, Clock, Generator, Layout, Lease, LocalWord, Randflake as L, Sparx64OnTheFly,
};
use riscv_rt::entry;
use semihosting::println;

/// Few,  so that power is cut while flash is written more often than not.
const IDS_IN_BLOCK: u32 = 4;

#[entry]
fn main() -> ! {
    let grant = Lease::new(L, 42, 1, 1 << 29).unwrap();
    let store = FlashHorizon::<_>::open(Pflash).unwrap();
    let mut blocks = Blocks::new(grant, store).with_block_s(1);
    println!("boot");
    loop {
        let lease = blocks.begin(Some(at(1_000))).unwrap();
        let cipher = Sparx64OnTheFly::new(&[7; 16]);
        let clock = Stuck(lease.start());
        let ids = Generator::<L, LocalWord<u32>, _, _>::new(lease, clock, cipher).unwrap();
        for _ in 0..IDS_IN_BLOCK {
            println!("id {}", ids.generate().unwrap());
        }
    }
}

fn at(tick: u64) -> Duration {
    Duration::from_millis(L::SPEC.epoch_unix_ms()) + Duration::from_secs(tick)
}

/// At the beginning of the block, which lies after what the clock shows.
struct Stuck(u64);

impl Clock for Stuck {
    fn now(&self) -> Option<Duration> {
        Some(at(self.0))
    }
}

/// The first three sectors of the second flash: two chips of 16 bits side by side, with Intel's
/// commands (`hw/block/pflash_cfi01.c` and `hw/riscv/virt.c` of QEMU).
struct Pflash;

const BASE: usize = 0x2200_0000;
const SECTOR: usize = 256 * 1024;

const PROGRAM: u32 = 0x0040_0040;
const ERASE: u32 = 0x0020_0020;
const CONFIRM: u32 = 0x00d0_00d0;
const READ: u32 = 0x00ff_00ff;
const READY: u32 = 0x0080_0080;

/// Gives one command, and waits until both chips have done it.
fn command(offset: u32, command: u32, data: u32) {
    let word = with_exposed_provenance_mut::<u32>(BASE + offset as usize);
    // SAFETY: the offsets that `FlashHorizon` gives are multiples of 4 within three sectors of the
    // flash, which nobody else uses.
    unsafe {
        word.write_volatile(command);
        word.write_volatile(data);
        while word.read_volatile() & READY != READY {}
        word.write_volatile(READ);
    }
}

impl ErrorType for Pflash {
    type Error = Infallible;
}

impl ReadNorFlash for Pflash {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        for (word, offset) in bytes
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip((offset..).step_by(4))
        {
            let from = with_exposed_provenance_mut::<u32>(BASE + offset as usize);
            // SAFETY: as above.
            *word = unsafe { from.read_volatile() }.to_le_bytes();
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        3 * SECTOR
    }
}

impl NorFlash for Pflash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        for sector in (from..to).step_by(SECTOR) {
            command(sector, ERASE, CONFIRM);
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        for (word, offset) in bytes.as_chunks::<4>().0.iter().zip((offset..).step_by(4)) {
            // The emulated chip stores what it is given; a real one clears bits only.
            let old = with_exposed_provenance_mut::<u32>(BASE + offset as usize);
            // SAFETY: as above.
            let old = unsafe { old.read_volatile() };
            command(offset, PROGRAM, old & u32::from_le_bytes(*word));
        }
        Ok(())
    }
}
