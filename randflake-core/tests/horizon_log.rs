//! The log of horizons over a flash in RAM. What cuts do to it is tested in `randflake-embedded`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use randflake_core::{FlashHorizonError, HorizonLog, HorizonRecord, LogFlash, LogGeometry};

/// What a dead cell does beside that it is dead.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Nor,
    /// A slot that is not blank cannot be written.
    Ecc,
    /// A slot with a wrong bit reads as noise.
    Encrypted,
}

/// Words are written once between erases.
struct Ram {
    bytes: Vec<u8>,
    page_bytes: u32,
    reads: u32,
    erased: Vec<u32>,
    /// A bit of this byte is always 1.
    dead: Option<usize>,
    /// A bit of this byte is always 0. The chip verifies what it erases.
    stuck: Option<usize>,
    kind: Kind,
    /// So many erases and so many writes from now on fail, having done nothing.
    failing: [u32; 2],
}

impl Ram {
    fn new(pages: u32, page_bytes: u32) -> Self {
        Self {
            bytes: vec![0xff; (pages * page_bytes) as usize],
            page_bytes,
            reads: 0,
            erased: Vec::new(),
            dead: None,
            stuck: None,
            kind: Kind::Nor,
            failing: [0, 0],
        }
    }

    fn put(&mut self, at: usize, record: HorizonRecord) {
        self.bytes[at..at + 8].copy_from_slice(&record.to_bytes());
    }

    fn fails(&mut self, operation: usize) -> Result<(), &'static str> {
        match self.failing[operation].checked_sub(1) {
            Some(left) => {
                self.failing[operation] = left;
                Err("failed")
            }
            None => Ok(()),
        }
    }
}

impl LogFlash for Ram {
    type Error = &'static str;

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap()
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error> {
        self.reads += 1;
        slot.copy_from_slice(&self.bytes[at as usize..][..slot.len()]);
        let from = at as usize;
        if self.kind == Kind::Encrypted
            && let Some(stuck) = self.stuck
            && (from..from + slot.len()).contains(&stuck)
        {
            slot.fill(0x5a);
        }
        Ok(())
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error> {
        self.fails(1)?;
        let at = at as usize;
        let place = &mut self.bytes[at..at + slot.len()];
        let is_blank = place.iter().all(|byte| *byte == 0xff);
        if self.stuck.is_none() {
            assert!(is_blank, "written twice: {at}");
        }
        if self.kind == Kind::Ecc && !is_blank {
            return Err("not blank");
        }
        place
            .iter_mut()
            .zip(slot)
            .for_each(|(old, new)| *old &= new);
        if let Some(dead) = self.dead {
            self.bytes[dead] |= 0x10;
        }
        Ok(())
    }

    fn erase(&mut self, page: u32) -> Result<(), Self::Error> {
        self.fails(0)?;
        self.erased.push(page / self.page_bytes);
        let place = page as usize..(page + self.page_bytes) as usize;
        self.bytes[place.clone()].fill(0xff);
        match self.stuck {
            Some(stuck) if place.contains(&stuck) => {
                self.bytes[stuck] &= !0x10;
                Err("not erased")
            }
            _ => Ok(()),
        }
    }
}

fn record(unix_s: u32) -> HorizonRecord {
    HorizonRecord::new(unix_s).unwrap()
}

fn horizon(flash: &mut Ram) -> u32 {
    HorizonLog::<8>::open(flash).unwrap().unix_s()
}

/// Pages that fill, each fill level opened, and the bound of reads.
fn fills<const SLOT: usize>(pages: u32, page_bytes: u32) {
    let slots = page_bytes / u32::try_from(SLOT).unwrap();
    let mut flash = Ram::new(pages, page_bytes);
    let mut unix_s = 4;
    HorizonLog::<SLOT>::open(&mut flash)
        .unwrap()
        .raise(&mut flash, unix_s)
        .unwrap();
    for raises in [1, 1, 2, slots / 2, slots - 2, slots, 3 * slots + 1] {
        let mut log = HorizonLog::<SLOT>::open(&mut flash).unwrap();
        for _ in 0..raises {
            unix_s += 4;
            log.raise(&mut flash, unix_s).unwrap();
            assert_eq!(log.unix_s(), unix_s);
        }
        flash.reads = 0;
        let log = HorizonLog::<SLOT>::open(&mut flash).unwrap();
        assert_eq!(log.unix_s(), unix_s);
        assert!(
            flash.reads <= pages * 2 + 2 * slots.ilog2(),
            "{}",
            flash.reads
        );
    }
}

#[test]
fn pages_of_all_sizes_fill_in_turn() {
    fills::<8>(3, 32);
    fills::<8>(5, 64);
    fills::<8>(3, 2_048);
    fills::<16>(3, 4_096);
    fills::<32>(4, 8_192);
    fills::<32>(3, 131_072);
}

#[test]
fn first_raise_of_a_boot_begins_a_page() {
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    assert_eq!(log.unix_s(), 0);
    log.raise(&mut flash, 1_001).unwrap();
    assert_eq!((log.unix_s(), log.kept_page()), (1_004, 0));
    assert_eq!(flash.erased, [0, 1, 2], "nothing was readable");
    log.raise(&mut flash, 1_000).unwrap();
    log.raise(&mut flash, 1_008).unwrap();
    assert_eq!(flash.erased.len(), 3);
    assert_eq!(flash.bytes[16..24], record(1_008).to_bytes());

    // What was only read is written again, higher.
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 0).unwrap();
    assert_eq!((log.unix_s(), log.kept_page()), (1_012, 64));
    // The third page showed no head.
    assert_eq!(flash.erased[3..], [1, 2]);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 0).unwrap();
    assert_eq!(flash.erased[5..], [2]);
}

#[test]
fn what_a_factory_writes_is_a_horizon() {
    for (pages, page_bytes) in [(3, 32), (16, 4_096)] {
        let geometry = LogGeometry::new(pages, page_bytes, 8).unwrap();
        let mut flash = Ram::new(pages, page_bytes);
        assert_eq!(flash.bytes.len(), geometry.bytes() as usize);
        for (at, bytes) in geometry.provisioned(record(1_000)) {
            flash.bytes[at as usize..][..8].copy_from_slice(&bytes);
        }
        let log = HorizonLog::<8>::open(&mut flash).unwrap();
        assert_eq!((log.unix_s(), log.kept_page()), (1_000, 0));
    }
    for (pages, page_bytes, slot_bytes) in [
        (2, 64, 8),
        (3, 24, 8),
        (3, 64, 4),
        (3, 96, 24),
        (3, 68, 8),
        (1 << 20, 1 << 12, 8),
    ] {
        assert_eq!(LogGeometry::new(pages, page_bytes, slot_bytes), None);
    }
}

#[test]
fn a_dump_says_what_each_page_shows() {
    let mut flash = Ram::new(4, 64);
    for (at, unix_s) in [
        (0, 1_000),
        (8, 4),
        (16, 1_100),
        (40, 1_060),
        (64, 2_000),
        (136, 960),
    ] {
        flash.put(at, record(unix_s));
    }
    flash.bytes[24..32].fill(0x5a);
    // A write was cut at its first byte.
    flash.bytes[144] = 0x5a;
    // Its head is none.
    flash.put(192, record(3_000));
    flash.put(200, HorizonRecord::BAD_PAGE);
    let geometry = LogGeometry::new(4, 64, 8).unwrap();
    let pages: Vec<_> = geometry.pages(&flash.bytes).collect();
    assert_eq!(pages.len(), 4);
    let of = |page: usize| {
        (
            pages[page].head,
            pages[page].version,
            pages[page].records,
            pages[page].damaged,
        )
    };
    assert_eq!(of(0), (Some(record(1_000)), Some(1), 2, 1));
    assert_eq!(pages[0].highest, Some(record(1_100)));
    assert_eq!(of(1), (Some(record(2_000)), None, 0, 0));
    assert_eq!(of(2), (None, Some(240), 0, 1));
    assert_eq!(of(3), (None, None, 0, 0));
    assert_eq!(pages.iter().filter(|page| page.is_bad).count(), 1);
    assert_eq!(pages[3].highest, None);
    assert_eq!(pages[2].highest, None, "a seal is no horizon");
}

#[test]
fn another_format_is_refused_and_not_touched() {
    for (version, page) in (240..=255_u8).flat_map(|version| [0, 1, 2].map(|page| (version, page)))
    {
        let mut flash = Ram::new(3, 64);
        flash.put(0, record(1_000));
        flash.put(8, HorizonRecord::SEAL);
        flash.put(page * 64, record(2_000));
        let seal = page * 64 + 8;
        flash.put(seal, record(4 * u32::from(version)));
        // As written, and with each bit changed.
        for bit in (0..64).map(Some).chain([None]) {
            let mut before = flash.bytes.clone();
            if let Some(bit) = bit {
                before[seal + bit / 8] ^= 1 << (bit % 8);
            }
            let mut flash = Ram::new(3, 64);
            flash.bytes.clone_from(&before);
            let refused = HorizonLog::<8>::open(&mut flash).unwrap_err();
            assert_eq!(refused, FlashHorizonError::Version(version));
            assert_eq!(flash.bytes, before);
        }
    }
    let told = FlashHorizonError::<()>::Version(240).to_string();
    assert_eq!(
        told,
        "the horizon in the flash has format 240: only 1 is known"
    );
}

#[test]
fn what_cannot_be_used_is_refused() {
    let small = HorizonLog::<8>::open(&mut Ram::new(2, 64)).unwrap_err();
    assert_eq!(small, FlashHorizonError::TooSmall);
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    let refused = log.raise(&mut flash, u32::MAX).unwrap_err();
    assert_eq!(refused, FlashHorizonError::OutOfRange);
    assert!(flash.erased.is_empty());
}

/// The first raise of a boot, with a dead cell in each place of the page that it begins.
#[test]
fn a_dead_cell_or_a_failure_goes_to_the_next_page() {
    for dead in [0, 8] {
        let mut flash = Ram::new(3, 64);
        // Bit 4 of this byte is 0 in the head, and bit 4 of that one in the seal.
        flash.put(0, record(1_000));
        flash.put(8, HorizonRecord::SEAL);
        flash.dead = Some(64 + dead);
        for boot in 1..7 {
            let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
            let to = 1_000 + 64 * boot;
            log.raise(&mut flash, to).unwrap();
            log.raise(&mut flash, to + 16).unwrap();
            assert_ne!(log.kept_page(), 64);
            assert_eq!(horizon(&mut flash), log.unix_s());
        }
    }
    for operation in [0, 1] {
        let mut flash = Ram::new(3, 64);
        flash.put(0, record(1_000));
        flash.put(8, HorizonRecord::SEAL);
        flash.failing[operation] = 1;
        let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
        log.raise(&mut flash, 1_100).unwrap();
        assert_eq!(log.kept_page(), 128);
    }
}

/// A cell that stays 0 in each slot of a page, and a chip that verifies its erases: all of them
/// fail.
fn dead_page<const SLOT: usize>(pages: u32, kind: Kind) {
    let page_bytes = 8 * u32::try_from(SLOT).unwrap();
    let page = page_bytes as usize..2 * page_bytes as usize;
    for dead in page.clone().step_by(4) {
        let mut flash = Ram::new(pages, page_bytes);
        flash.put(0, record(1_000));
        flash.put(SLOT, HorizonRecord::SEAL);
        flash.stuck = Some(dead);
        flash.kind = kind;
        for boot in 1..=20 {
            let erased = flash.erased.len();
            let before = flash.bytes[page.clone()].to_vec();
            let mut log = HorizonLog::<SLOT>::open(&mut flash).unwrap();
            for raise in 0..10 {
                let to = 1_000 + 1_024 * boot + 64 * raise;
                log.raise(&mut flash, to).unwrap();
                assert_ne!(log.kept_page(), page_bytes);
                assert!((to..to + 8).contains(&log.unix_s()));
                let shown = HorizonLog::<SLOT>::open(&mut flash).unwrap().unix_s();
                assert_eq!(shown, log.unix_s());
            }
            if boot > 1 {
                assert!(!flash.erased[erased..].contains(&1), "{dead}");
                assert_eq!(flash.bytes[page.clone()], before);
            }
        }
    }
}

#[test]
fn page_that_fails_to_erase_is_marked_as_bad() {
    for kind in [Kind::Nor, Kind::Ecc, Kind::Encrypted] {
        dead_page::<8>(3, kind);
        dead_page::<8>(4, kind);
        dead_page::<16>(3, kind);
        dead_page::<32>(3, kind);
    }
}

/// A counter of tickets passes every number, also that of the mark.
#[test]
fn first_record_equal_to_a_mark_is_a_horizon() {
    let number = HorizonRecord::BAD_PAGE.unix_s();
    let mut flash = Ram::new(3, 64);
    // Each boot begins a page with its record.
    for raised in (4..3 * number).step_by(4) {
        let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
        log.raise(&mut flash, raised).unwrap();
        assert_eq!(horizon(&mut flash), raised);
    }
    let geometry = LogGeometry::new(3, 64, 8).unwrap();
    assert!(geometry.pages(&flash.bytes).all(|page| !page.is_bad));
}

/// A driver that failed for a while leaves no device without pages.
#[test]
fn marked_pages_are_used_where_there_are_no_others() {
    let mut flash = Ram::new(3, 64);
    flash.put(0, record(1_000));
    flash.put(8, HorizonRecord::SEAL);
    for page in [64, 128] {
        flash.put(page, HorizonRecord::BAD_PAGE);
    }
    for boot in 1..9 {
        let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
        log.raise(&mut flash, 1_000 + 64 * boot).unwrap();
        assert_eq!(horizon(&mut flash), 1_000 + 64 * boot);
    }
    flash.bytes.fill(0xff);
    flash.put(72, HorizonRecord::BAD_PAGE);
    flash.put(64, record(1_000));
    assert_eq!(
        horizon(&mut flash),
        0,
        "what a bad page shows is no horizon"
    );
}

#[test]
fn refused_raise_keeps_the_horizon() {
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 1_000).unwrap();
    flash.failing = [0, 3];
    assert_eq!(
        log.raise(&mut flash, 1_100),
        Err(FlashHorizonError::Flash("failed"))
    );
    assert_eq!((log.unix_s(), horizon(&mut flash)), (1_000, 1_000));
    log.raise(&mut flash, 1_100).unwrap();
    // Above all that was tried.
    assert_eq!((log.unix_s(), log.kept_page()), (1_112, 64));
    assert_eq!(horizon(&mut flash), 1_112);
}

/// Each bit of a slot that may change to 0, with each two bits that an erase which was cut at its
/// start has raised.
fn begun_erases(at: usize, page: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let is_set = move |bit: &usize| page[at + bit / 8] >> (bit % 8) & 1 == 1;
    let aged = (0..64).filter(is_set);
    let zeros: Vec<_> = (0..64).filter(|bit| !is_set(bit)).collect();
    let pairs: Vec<_> = (0..zeros.len())
        .flat_map(|two| (0..two).map(move |one| (one, two)))
        .map(|(one, two)| [zeros[one], zeros[two]])
        .collect();
    aged.flat_map(move |aged| {
        pairs.clone().into_iter().map(move |[one, two]| {
            let mut torn = page.to_vec();
            for bit in [aged, one, two] {
                torn[at + bit / 8] ^= 1 << (bit % 8);
            }
            torn
        })
    })
}

/// It goes on, and shows what was answered.
#[test]
fn changed_bit_and_cut_erase_stop_nothing() {
    let mut flash = Ram::new(3, 64);
    for (page, head) in [(0, 1_730_000_000), (1, 1_730_000_064), (2, 1_730_000_256)] {
        flash.put(64 * page, record(head));
        flash.put(64 * page + 8, HorizonRecord::SEAL);
    }
    let (whole, oldest) = (flash.bytes.clone(), flash.bytes[..64].to_vec());
    let mut misread = [0; 2];
    for (slot, misread) in misread.iter_mut().enumerate() {
        for mut torn in begun_erases(8 * slot, &oldest) {
            // The erase has also raised a bit of the other slot.
            torn[8 * (1 - slot) + 1] |= 0x80;
            let words =
                [0, 4].map(|at| u32::from_le_bytes(*torn[8 * slot + at..].first_chunk().unwrap()));
            let shown = HorizonRecord::from_words(words);
            *misread +=
                u32::from(shown.is_some_and(|shown| shown.to_bytes() != oldest[8 * slot..][..8]));
            flash.bytes[..64].copy_from_slice(&torn);
            assert_eq!(horizon(&mut flash), 1_730_000_256, "{torn:x?}");
            let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
            assert_eq!(log.kept_page(), 128);
            log.raise(&mut flash, 1_730_000_300).unwrap();
            flash.bytes.clone_from(&whole);
        }
    }
    assert!(misread.iter().all(|misread| *misread > 100), "{misread:?}");
}

/// A record that reads as far ahead of its page's head was never written there.
#[test]
fn no_record_counts_far_above_its_head() {
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 1_000).unwrap();
    flash.put(16, record(1_000 + (1 << 20)));
    assert_eq!(horizon(&mut flash), 1_000);
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 1_000).unwrap();
    log.raise(&mut flash, 1_000 + (1 << 20)).unwrap();
    assert_eq!(log.kept_page(), 64, "begins a page");
    assert_eq!(horizon(&mut flash), 1_000 + (1 << 20));
}

/// A page whose head cannot be read has no horizon: neither its seal nor its records count as one.
#[test]
fn a_seal_is_no_horizon() {
    let mut flash = Ram::new(3, 64);
    flash.put(8, HorizonRecord::SEAL);
    for slot in 2..8 {
        flash.put(8 * slot as usize, record(1_730_000_000 + 60 * slot));
        assert_eq!(horizon(&mut flash), 0, "lost, and not some seconds");
    }
    // But that of another page counts.
    flash.put(64, record(1_730_000_004));
    assert_eq!(horizon(&mut flash), 1_730_000_004);
}

/// Raises never wait for an erase, if there is time for it between them.
#[test]
fn a_page_is_begun_ahead() {
    let shown = horizon;
    // Eight slots: a head, a seal and six more.
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.erase_ahead(&mut flash, 8).unwrap();
    assert!(flash.erased.is_empty(), "nothing was raised in this boot");
    log.raise(&mut flash, 1_000).unwrap();
    for raise in 1..100 {
        let (horizon, erases) = (log.unix_s(), flash.erased.len());
        log.raise(&mut flash, horizon + 60).unwrap();
        assert_eq!(flash.erased.len(), erases, "{raise}");

        let horizon = log.unix_s();
        log.erase_ahead(&mut flash, 2).unwrap();
        // The second one finds nothing to do.
        let erases = flash.erased.len();
        log.erase_ahead(&mut flash, 2).unwrap();
        assert_eq!(flash.erased.len(), erases);
        assert_eq!((log.unix_s(), shown(&mut flash)), (horizon, horizon));
    }
    // After the first raise, one for every five records; and the third page, which had no head yet.
    assert_eq!(flash.erased.len(), 3 + 99 / 5 + 1);
    assert_eq!(flash.erased[3..8], [1, 2, 2, 0, 1], "in turn");
}

#[test]
fn at_most_half_a_page_is_left_early() {
    let mut flash = Ram::new(3, 64);
    let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
    log.raise(&mut flash, 1_000).unwrap();
    let at_first = flash.erased.len();
    for raise in 1..=30 {
        log.raise(&mut flash, 1_000 + 60 * raise).unwrap();
        log.erase_ahead(&mut flash, u32::MAX).unwrap();
    }
    // And the third page, which had no head yet.
    assert_eq!(flash.erased.len() - at_first, 30 / 3 + 1);
}

#[test]
fn failed_erase_ahead_is_done_by_the_next_raise() {
    for operation in [0, 1] {
        let mut flash = Ram::new(3, 64);
        let mut log = HorizonLog::<8>::open(&mut flash).unwrap();
        for unix_s in [1_000, 1_060, 1_120, 1_180] {
            log.raise(&mut flash, unix_s).unwrap();
        }
        flash.failing[operation] = 1;
        let failed = log.erase_ahead(&mut flash, 4);
        assert_eq!(failed, Err(FlashHorizonError::Flash("failed")));
        assert_eq!((log.unix_s(), horizon(&mut flash)), (1_180, 1_180));
        log.erase_ahead(&mut flash, 4).unwrap();
        assert_eq!(log.kept_page(), 0, "left to the next raise");
        log.raise(&mut flash, 1_240).unwrap();
        assert_eq!((log.unix_s(), horizon(&mut flash)), (1_240, 1_240));
        assert_ne!(log.kept_page(), 0);
    }
}
