//! Words of all sizes, pages from 32 bytes to 128 KiB.

use embedded_storage::nor_flash::NorFlash;
use randflake_core::HorizonStore;
use randflake_embedded::{NorHorizonError, WriteOnceHorizon};

use crate::flash::{Flash, FlashError, Unreadable};
use crate::random::Random;

type Opened<'a, const WORD: usize, const SLOT: usize, const PAGE: usize> =
    WriteOnceHorizon<&'a mut Flash<WORD, SLOT, PAGE>, SLOT>;

/// Fills pages, looks for the end at each fill level or some of them, and lives through cuts.
fn works<const WORD: usize, const SLOT: usize, const PAGE: usize>(pages: u32) {
    let slots = u32::try_from(PAGE / SLOT).unwrap();
    let mut flash = Flash::<WORD, SLOT, PAGE>::new(pages, Unreadable::Error);
    let mut horizon = 4;
    Opened::open(&mut flash).unwrap().raise(horizon).unwrap();
    for raises in [
        1,
        1,
        2,
        slots / 2,
        slots.saturating_sub(2),
        slots,
        2 * slots + 1,
    ] {
        flash.reads = 0;
        let mut opened = Opened::open(&mut flash).unwrap();
        assert_eq!(opened.unix_s(), horizon, "{WORD} {PAGE}");
        for _ in 0..raises {
            horizon += 4;
            opened.raise(horizon).unwrap();
        }
        // Two heads, and two slots for each halving.
        let halvings = 1 + slots.ilog2();
        assert!(!flash.was_written_twice);
        flash.reads = 0;
        assert_eq!(Opened::open(&mut flash).unwrap().unix_s(), horizon);
        assert!(flash.reads <= pages * (2 + 2 * halvings), "{}", flash.reads);
    }

    let mut random = Random(7);
    let mut promised = horizon;
    for _ in 0..100 {
        flash.boot(random.below(12), &mut random);
        let mut opened = Opened::open(&mut flash).unwrap();
        assert!((promised..=horizon).contains(&opened.unix_s()));
        loop {
            let to = opened.unix_s() + 4 * (1 + random.below(3));
            horizon = horizon.max(to);
            match opened.raise(to) {
                Ok(()) => promised = to,
                Err(error) => {
                    assert_eq!(error, NorHorizonError::Flash(FlashError::PowerCut));
                    break;
                }
            }
        }
        flash.settle(&mut random);
        assert!(!flash.was_written_twice);
    }
}

#[test]
fn words_and_pages_of_all_sizes() {
    works::<1, 8, 32>(2);
    works::<4, 8, 32>(9);
    works::<8, 8, 32>(4);
    works::<16, 16, 32>(3);
    works::<32, 32, 64>(2);
    works::<4, 8, 256>(3);
    works::<8, 8, 2_048>(2);
    works::<8, 8, 2_048>(16);
    works::<16, 16, 4_096>(2);
    works::<32, 32, 8_192>(2);
    works::<1, 8, 131_072>(2);
    works::<8, 8, 131_072>(2);
    works::<32, 32, 131_072>(3);
}

/// A failure of the driver, or of a cell under a driver that does not notice, goes to the next page.
#[test]
fn what_was_not_written_is_not_answered() {
    let mut flash = Flash::<8, 8, 64>::new(3, Unreadable::Noise);
    flash.dead = Some(4);
    let mut opened = Opened::open(&mut flash).unwrap();
    for horizon in [4, 8, 12] {
        opened.raise(horizon).unwrap();
    }
    assert_eq!(opened.raise(16), Err(NorHorizonError::NotWritten));
    assert_eq!(opened.unix_s(), 12);
    opened.raise(16).unwrap();
    assert_eq!(Opened::open(&mut flash).unwrap().unix_s(), 16);
    assert!(flash.slots.contains_key(&8), "the second page");
}

#[test]
fn what_cannot_be_used_is_refused() {
    let mut small = Flash::<8, 8, 64>::new(1, Unreadable::Error);
    assert_eq!(
        Opened::open(&mut small).err(),
        Some(NorHorizonError::TooSmall)
    );

    let mut flash = Flash::<8, 8, 64>::new(2, Unreadable::Error);
    flash.slots.insert(0, vec![0]);
    let refused = Opened::open(&mut flash).err();
    assert_eq!(
        refused,
        Some(NorHorizonError::Flash(FlashError::Unreadable))
    );

    flash.erase(0, 64).unwrap();
    let mut opened = Opened::open(&mut flash).unwrap();
    assert_eq!(opened.raise(u32::MAX), Err(NorHorizonError::OutOfRange));
    assert_eq!(opened.unix_s(), 0);
}
