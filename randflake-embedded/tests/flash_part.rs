//! A part of a flash reaches what is inside, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use randflake_core::HorizonStore;
use randflake_embedded::{FlashHorizon, FlashHorizonError, FlashPart, FlashPartError};

const PAGE: u32 = 64;
const PAGES: u32 = 6;

/// A flash of six pages that trusts its caller, as some drivers do; it counts the calls.
struct Flash {
    bytes: Vec<u8>,
    /// How often each byte was written since it was erased.
    writes: Vec<u32>,
    calls: u32,
    works: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Broken;

impl NorFlashError for Broken {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Flash {
    /// Each page full of its number.
    fn new() -> Self {
        let pages = 0..u8::try_from(PAGES).unwrap();
        let bytes: Vec<_> = pages.flat_map(|page| [page; PAGE as usize]).collect();
        Self {
            writes: vec![0; bytes.len()],
            bytes,
            calls: 0,
            works: true,
        }
    }

    fn page(&self, page: usize) -> &[u8] {
        self.bytes.chunks(PAGE as usize).nth(page).unwrap()
    }

    fn call(&mut self) -> Result<(), Broken> {
        self.calls += 1;
        self.works.then_some(()).ok_or(Broken)
    }
}

impl ErrorType for Flash {
    type Error = Broken;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 2;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Broken> {
        self.call()?;
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Broken> {
        self.call()?;
        self.bytes[from as usize..to as usize].fill(0xff);
        self.writes[from as usize..to as usize].fill(0);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Broken> {
        self.call()?;
        let old = &mut self.bytes[offset as usize..][..bytes.len()];
        old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
        for writes in &mut self.writes[offset as usize..][..bytes.len()] {
            *writes += 1;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

#[test]
fn part_touches_its_range_alone() {
    let mut flash = Flash::new();
    let mut part = FlashPart::new(&mut flash, 2 * PAGE..4 * PAGE).unwrap();
    assert_eq!(part.capacity(), 128);
    let mut two = [0; 2];
    for (offset, page) in [(0, 2), (62, 2), (64, 3), (126, 3)] {
        part.read(offset, &mut two).unwrap();
        assert_eq!(two, [page; 2], "{offset}");
    }
    part.erase(PAGE, 2 * PAGE).unwrap();
    part.write(2 * PAGE - 4, b"last").unwrap();

    for page in [0, 1, 2, 4, 5] {
        let number = u8::try_from(page).unwrap();
        assert_eq!(flash.page(page), [number; PAGE as usize]);
    }
    assert_eq!(flash.page(3)[..60], [0xff; 60]);
    assert_eq!(flash.page(3)[60..], *b"last");
}

#[test]
fn unaligned_or_outside_calls_reach_no_driver() {
    let mut flash = Flash::new();
    let mut part = FlashPart::new(&mut flash, 2 * PAGE..4 * PAGE).unwrap();
    let (outside, odd) = (
        Err(FlashPartError::OutOfBounds),
        Err(FlashPartError::NotAligned),
    );
    for offset in [128, 126, 2 * PAGE, u32::MAX - 3, u32::MAX] {
        assert_eq!(part.read(offset, &mut [0; 4]), outside, "{offset}");
        assert_eq!(part.write(offset, &[0; 4]), outside, "{offset}");
    }
    assert_eq!(part.read(0, &mut [0; 130]), outside);
    assert_eq!(part.read(1, &mut [0; 2]), odd);
    assert_eq!(part.read(0, &mut [0; 3]), odd);
    assert_eq!(part.write(2, &[0; 4]), odd);
    assert_eq!(part.write(0, &[0; 6]), odd);
    for (from, to) in [
        (0, 3 * PAGE),
        (2 * PAGE, 3 * PAGE),
        (PAGE, 0),
        (0, u32::MAX),
    ] {
        assert_eq!(part.erase(from, to), outside, "{from} {to}");
    }
    assert_eq!(part.erase(0, 32), odd);
    assert_eq!(part.erase(32, 64), odd);
    assert_eq!(flash.calls, 0);
}

#[test]
fn a_range_that_the_flash_has_not_is_refused() {
    let new = |from, to| FlashPart::new(&mut Flash::new(), from..to).map(drop);
    let size = PAGES * PAGE;
    assert_eq!(new(0, size), Ok(()));
    assert_eq!(new(size, size), Ok(()), "an empty one");
    for (from, to) in [
        (0, size + PAGE),
        (size, size + PAGE),
        (PAGE, 0),
        (0, u32::MAX),
    ] {
        assert_eq!(
            new(from, to),
            Err(FlashPartError::OutOfBounds),
            "{from} {to}"
        );
    }
    for (from, to) in [(8, 2 * PAGE), (PAGE, 2 * PAGE - 8)] {
        assert_eq!(
            new(from, to),
            Err(FlashPartError::NotAligned),
            "{from} {to}"
        );
    }
}

#[test]
fn errors_say_what_kind_they_are() {
    let mut flash = Flash::new();
    flash.works = false;
    let mut part = FlashPart::new(&mut flash, 0..PAGE).unwrap();
    let broken = FlashPartError::Flash(Broken);
    assert_eq!(part.read(0, &mut [0; 2]), Err(broken));
    assert_eq!(part.write(0, &[0; 4]), Err(broken));
    assert_eq!(part.erase(0, PAGE), Err(broken));

    let kinds = [
        FlashPartError::OutOfBounds,
        FlashPartError::NotAligned,
        broken,
    ];
    let expected = [
        NorFlashErrorKind::OutOfBounds,
        NorFlashErrorKind::NotAligned,
        NorFlashErrorKind::Other,
    ];
    assert_eq!(kinds.map(|error| error.kind()), expected);
    assert_eq!(broken.to_string(), "the flash failed: Broken");
}

#[test]
fn a_horizon_keeps_to_its_part() {
    let mut flash = Flash::new();
    for round in (4..400).step_by(4) {
        let part = FlashPart::new(&mut flash, 2 * PAGE..5 * PAGE).unwrap();
        let mut horizon = FlashHorizon::<_>::open(part).unwrap();
        assert_eq!(horizon.unix_s(), round - 4);
        horizon.raise(round).unwrap();
    }
    for page in [0, 1, 5] {
        let number = u8::try_from(page).unwrap();
        assert_eq!(flash.page(page), [number; PAGE as usize]);
    }
}

/// Flash with ECC allows one write of a word before it is erased; the nRF52 two.
#[test]
fn a_horizon_writes_each_word_once() {
    let mut flash = Flash::new();
    let mut raised = 0;
    for boot in 0..200_u32 {
        let mut horizon = FlashHorizon::<_>::open(&mut flash).unwrap();
        for _ in 0..=boot % 4 {
            raised += 60;
            horizon.raise(raised).unwrap();
        }
        assert_eq!(horizon.unix_s(), raised);
        assert!(flash.writes.iter().all(|writes| *writes <= 1), "{boot}");
    }
}

#[test]
fn a_part_too_small_for_a_horizon_is_refused() {
    let part = FlashPart::new(Flash::new(), PAGE..3 * PAGE).unwrap();
    let opened = FlashHorizon::<_>::open(part).map(drop);
    assert_eq!(opened, Err(FlashHorizonError::TooSmall));
}
