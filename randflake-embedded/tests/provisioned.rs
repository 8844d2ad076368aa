//! The first boots of a device that was provisioned: its flash is as `randflake lease provision`
//! writes it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::convert::Infallible;
use core::time::Duration;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use randflake_core::{
    Blocks, HorizonError, HorizonRecord, HorizonStore, Layout, Lease, LogGeometry, Randflake,
    TicketCounter,
};
use randflake_embedded::{FlashHorizon, FlashHorizonError};

/// Flash that reads and writes so many bytes at once, and erases a page.
struct Ram<const WORD: usize, const PAGE: usize>(Vec<u8>);

impl<const WORD: usize, const PAGE: usize> ErrorType for Ram<WORD, PAGE> {
    type Error = Infallible;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Ram<WORD, PAGE> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0[at as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl<const WORD: usize, const PAGE: usize> NorFlash for Ram<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        assert_eq!(to as usize - from as usize, PAGE);
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Infallible> {
        let old = &mut self.0[at as usize..][..bytes.len()];
        old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
        Ok(())
    }
}

const FROM: u64 = 65_339_800;

fn grant() -> Lease<Randflake> {
    Lease::new(Randflake, 42, FROM, FROM + 300_000_000).unwrap()
}

/// What a factory writes.
fn image(geometry: LogGeometry) -> Vec<u8> {
    let begins = Duration::from_millis(Randflake::SPEC.unix_ms(FROM)).as_secs();
    let record = HorizonRecord::new(u32::try_from(begins).unwrap()).unwrap();
    let mut image = vec![0xff; geometry.bytes() as usize];
    for (at, bytes) in geometry.provisioned(record) {
        image[at as usize..][..8].copy_from_slice(&bytes);
    }
    image
}

/// Boots with nothing but flash, each of which begins a block; no clock.
fn boots<const WORD: usize, const PAGE: usize, const SLOT: usize>() {
    let [page, slot] = [PAGE, SLOT].map(|bytes| u32::try_from(bytes).unwrap());
    let geometry = LogGeometry::new(3, page, slot).unwrap();
    let mut flash = Ram::<WORD, PAGE>(image(geometry));
    let mut end = FROM;
    for boot in 0..300 {
        let horizon = FlashHorizon::<_, SLOT>::open(&mut flash).unwrap();
        assert_ne!(horizon.unix_s(), 0);
        let lease = Blocks::new(grant(), horizon).begin(None).unwrap();
        assert!((end..end + 4).contains(&lease.start()), "{boot}");
        end = lease.end();
    }
    // A programmer erased the pages, or a bootloader did: the grant is not used again.
    flash.0.fill(0xff);
    let horizon = FlashHorizon::<_, SLOT>::open(&mut flash).unwrap();
    let refused = Blocks::new(grant(), horizon).begin(None).unwrap_err();
    assert_eq!(refused, HorizonError::Lost);
}

#[test]
fn provisioned_device_issues_until_flash_is_erased() {
    boots::<1, 128, 8>();
    boots::<4, 512, 8>();
    boots::<4, 4096, 8>();
    boots::<4, 4096, 32>();
    boots::<16, 2048, 16>();
    boots::<8, 131_072, 8>();
}

/// A block goes on after its page was left for one that was erased ahead.
#[test]
fn a_block_is_extended_after_an_erase_ahead() {
    let mut flash = Ram::<4, 128>(image(LogGeometry::new(3, 128, 8).unwrap()));
    let mut blocks = Blocks::new(grant(), FlashHorizon::<_>::open(&mut flash).unwrap());
    let mut lease = blocks.begin(None).unwrap();
    for _ in 0..100 {
        blocks.store_mut().erase_ahead(3).unwrap();
        let longer = blocks.extend(lease).unwrap();
        assert_eq!(
            (longer.start(), longer.end()),
            (lease.start(), lease.end() + 60)
        );
        lease = longer;
    }
}

/// A ticket that was accepted before is told again, at each boot.
#[test]
fn a_counter_that_is_kept_already_stays() {
    let mut flash = Ram::<4, 512>(vec![0xff; 3 * 512]);
    for boot in 0..100 {
        let mut counter = TicketCounter::new(FlashHorizon::<_>::open(&mut flash).unwrap());
        counter.raise(7).unwrap();
        counter.raise(6).unwrap();
        assert_eq!(counter.last(), 7, "{boot}");
    }
}

/// The first half of a fourth page belongs to nobody.
#[test]
fn a_page_that_is_there_in_part_is_not_used() {
    let mut flash = Ram::<4, 512>(vec![0xff; 3 * 512 + 256]);
    for boot in 1..9 {
        let mut horizon = FlashHorizon::<_>::open(&mut flash).unwrap();
        horizon.raise(1_730_000_000 + 60 * boot).unwrap();
    }
    assert_eq!(flash.0[3 * 512..], [0xff; 256]);
    let short = FlashHorizon::<_>::open(Ram::<4, 512>(vec![0xff; 3 * 512 - 4])).err();
    assert_eq!(short, Some(FlashHorizonError::TooSmall));
}
