//! A flash whose operations are done, fail, are cut or are abandoned, and whose torn slots read
//! differently each time.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::pending;

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};

use super::choices::Choices;
use super::slots::{Content, Slot, Torn};

/// A record: the model has slots of no other size, because a store handles all sizes alike.
pub(crate) const SLOT: usize = 8;

/// What may happen, as a class of flash and of driver.
#[expect(clippy::struct_excessive_bools, reason = "each may be so by itself")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct World {
    pub(crate) pages: usize,
    /// How many raises a boot makes at most.
    pub(crate) raises: u32,
    /// How many raises in a row are not answered at most.
    pub(crate) unanswered: u32,
    /// Whether an erase that is cut leaves ones torn too, as on parts that first program every cell
    /// to 0.
    pub(crate) both_ways: bool,
    /// Whether a slot may be programmed once between two erases.
    pub(crate) write_once: bool,
    /// Whether reading a torn slot may fail, as a double error of ECC.
    pub(crate) unreadable: bool,
    /// How many operations in a boot fail, or have their future dropped, while there is power.
    pub(crate) failures: u32,
    /// How many firm bits change while there is no power, in all boots together.
    pub(crate) lost_bits: u32,
    /// Whether it is no fault to refuse, at a boot or at a raise: no ids are issued.
    pub(crate) may_refuse: bool,
    /// Cells that have one value forever.
    pub(crate) dead: Option<Dead>,
    /// Whether an erase fails if a dead cell stays 0.
    pub(crate) verifies: bool,
    /// A page whose erases change nothing and fail, as one that is protected.
    pub(crate) stuck: Option<usize>,
}

/// Dead cells of a slot: what it reads as in them, whatever was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dead {
    pub(crate) slot: usize,
    /// Those that cannot be written.
    pub(crate) ones: u64,
    /// Those that cannot be erased.
    pub(crate) zeros: u64,
}

/// A bit of a firm record that has changed, as its place in [`BITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lost {
    pub(crate) slot: usize,
    pub(crate) kind: usize,
}

/// One bit of each kind, in a record: the lowest of the word's number that has the value, the
/// parity, and the bits that are 0 in every record.
const BITS: [Bit; 7] = [
    Bit::lowest(0, false),
    Bit::lowest(0, true),
    Bit::lowest(1, false),
    Bit::lowest(1, true),
    Bit::fixed(0),
    Bit::fixed(1),
    Bit::fixed(33),
];

#[derive(Clone, Copy, Debug)]
enum Bit {
    Lowest { word: u32, is_set: bool },
    Fixed(u32),
}

impl Bit {
    const fn lowest(word: u32, is_set: bool) -> Self {
        Self::Lowest { word, is_set }
    }

    const fn fixed(bit: u32) -> Self {
        Self::Fixed(bit)
    }

    fn of(self, slot: u64) -> u64 {
        match self {
            Self::Fixed(bit) => 1 << bit,
            Self::Lowest { word, is_set } => {
                let cells = if is_set { slot } else { !slot };
                let number = cells & 0xffff_fffc << (32 * word);
                number & number.wrapping_neg()
            }
        }
    }
}

impl Lost {
    /// Each bit that may change in these slots.
    pub(crate) fn each(slots: &[Slot]) -> Vec<Self> {
        let firm = slots.iter().enumerate().filter(|(_, slot)| {
            slot.torn == Torn::No
                && matches!(
                    slot.firm,
                    Content::Record(_) | Content::Seal | Content::Blank
                )
        });
        firm.flat_map(|(slot, _)| (0..BITS.len()).map(move |kind| Self { slot, kind }))
            .collect()
    }
}

/// What goes on in a run, from one loss of power to the next; looked at while a store has the
/// flash.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) world: &'a World,
    pub(crate) choices: Choices,
    pub(crate) slots: RefCell<Vec<Slot>>,
    pub(crate) lost: Cell<Option<Lost>>,
    /// Whether the power was cut.
    pub(crate) is_off: Cell<bool>,
    /// How many more operations may fail. None while a store opens: there only torn slots do.
    pub(crate) failures: Cell<u32>,
    /// Whether a slot was programmed that was not blank for certain.
    pub(crate) was_overwritten: Cell<bool>,
    pub(crate) reads: Cell<usize>,
    /// How many reads the store took to open.
    pub(crate) reads_to_open: Cell<usize>,
    /// What happened, for people; `None` where nobody reads it.
    pub(crate) story: RefCell<Option<Vec<String>>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self {
            world,
            choices: Choices::default(),
            slots: RefCell::default(),
            lost: Cell::new(None),
            is_off: Cell::new(false),
            failures: Cell::new(0),
            was_overwritten: Cell::new(false),
            reads: Cell::new(0),
            reads_to_open: Cell::new(0),
            story: RefCell::new(None),
        }
    }

    /// A run by these choices, told for people.
    pub(crate) fn telling(world: &'a World, choices: Vec<usize>) -> Self {
        Self {
            choices: Choices::along(choices),
            story: RefCell::new(Some(Vec::new())),
            ..Self::new(world)
        }
    }

    /// Power comes back.
    pub(crate) fn begin(&self, slots: &[Slot], lost: Option<Lost>) {
        let mut held = self.slots.borrow_mut();
        held.clear();
        held.extend_from_slice(slots);
        self.lost.set(lost);
        self.is_off.set(false);
        self.failures.set(0);
        self.reads.set(0);
    }

    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut *self.story.borrow_mut() {
            story.push(line());
        }
    }

    /// Whether the next operation fails, by one of so many ways; 0 for none.
    fn failure(&self, ways: usize) -> usize {
        let failures = self.failures.get();
        if failures == 0 {
            return 0;
        }
        let way = self.choices.one_of(1 + ways);
        self.failures.set(failures - u32::from(way > 0));
        way
    }
}

pub(crate) struct Flash<'a, const SLOTS: usize> {
    pub(crate) run: &'a Run<'a>,
}

/// Says nothing: what a store knows is the rest of it.
impl<const SLOTS: usize> fmt::Debug for Flash<'_, SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// How a write or an erase ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Cut,
    FailedTorn,
    FailedDone,
    DroppedTorn,
    DroppedDone,
}

impl End {
    const FAILED: [Self; 4] = [
        Self::FailedTorn,
        Self::FailedDone,
        Self::DroppedTorn,
        Self::DroppedDone,
    ];

    const fn is_torn(self) -> bool {
        matches!(self, Self::Cut | Self::FailedTorn | Self::DroppedTorn)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::Cut => ": power is cut",
            Self::FailedTorn => ": fails half-done",
            Self::FailedDone => ": done, and reported as failed",
            Self::DroppedTorn => ": its future is dropped half-done",
            Self::DroppedDone => ": done, and its future is dropped",
        }
    }
}

impl<const SLOTS: usize> Flash<'_, SLOTS> {
    fn name(at: usize) -> String {
        format!("slot {} of page {}", at % SLOTS, at / SLOTS)
    }

    /// How the next write or erase ends.
    fn end(&self) -> End {
        if self.run.choices.one_of(2) == 1 {
            self.run.is_off.set(true);
            return End::Cut;
        }
        match self.run.failure(End::FAILED.len()).checked_sub(1) {
            Some(way) => End::FAILED[way],
            None => End::Done,
        }
    }

    async fn answer(end: End) -> Result<(), NorFlashErrorKind> {
        match end {
            End::Done => Ok(()),
            End::FailedTorn | End::FailedDone => Err(NorFlashErrorKind::Other),
            // Nobody polls again.
            End::Cut | End::DroppedTorn | End::DroppedDone => pending().await,
        }
    }

    /// The bytes of one reading, with the cells that no longer follow what was written.
    fn bytes(&self, at: usize, reading: Content) -> [u8; SLOT] {
        let mut cells = u64::from_le_bytes(reading.to_bytes());
        if let Some(lost) = self.run.lost.get().filter(|lost| lost.slot == at) {
            cells ^= BITS[lost.kind].of(cells);
        }
        if let Some(dead) = self.run.world.dead.filter(|dead| dead.slot == at) {
            cells = cells & !dead.zeros | dead.ones;
        }
        cells.to_le_bytes()
    }
}

/// Which slot, at its beginning: what is not asked for by slots is a fault of the design.
fn slot_at(offset: u32) -> usize {
    let offset = offset as usize;
    assert_eq!(offset % SLOT, 0, "not a slot");
    offset / SLOT
}

impl<const SLOTS: usize> ErrorType for Flash<'_, SLOTS> {
    type Error = NorFlashErrorKind;
}

impl<const SLOTS: usize> ReadNorFlash for Flash<'_, SLOTS> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let at = slot_at(offset);
        let run = self.run;
        run.reads.set(run.reads.get() + 1);
        match run.failure(2) {
            0 => {}
            1 => {
                run.tell(|| format!("the read of {} fails", Self::name(at)));
                return Err(NorFlashErrorKind::Other);
            }
            _ => {
                run.tell(|| format!("the future is dropped at the read of {}", Self::name(at)));
                return pending().await;
            }
        }
        let slot = run.slots.borrow()[at];
        let readings = slot.readings();
        let is_torn = slot.torn != Torn::No;
        let ways = readings.len() + usize::from(is_torn && run.world.unreadable);
        let way = if ways > 1 {
            run.choices.one_of(ways)
        } else {
            0
        };
        let Some(reading) = readings.get(way).map(|reading| slot.read(*reading)) else {
            run.tell(|| format!("{}, torn, cannot be read", Self::name(at)));
            return Err(NorFlashErrorKind::Other);
        };
        if is_torn {
            run.tell(|| format!("{}, torn, reads as {reading:?}", Self::name(at)));
        }
        bytes.copy_from_slice(&self.bytes(at, reading));
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.run.world.pages * SLOTS * SLOT
    }
}

impl<const SLOTS: usize> MultiwriteNorFlash for Flash<'_, SLOTS> {}

impl<const SLOTS: usize> NorFlash for Flash<'_, SLOTS> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SLOTS * SLOT;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let mut end = End::Done;
        for page in (slot_at(from)..slot_at(to)).step_by(SLOTS) {
            if self.run.world.stuck == Some(page / SLOTS) {
                self.run
                    .tell(|| format!("cannot erase page {}", page / SLOTS));
                return Err(NorFlashErrorKind::Other);
            }
            end = self.end();
            self.run
                .tell(|| format!("erases page {}{}", page / SLOTS, end.name()));
            for at in page..page + SLOTS {
                let slot = &mut self.run.slots.borrow_mut()[at];
                if end.is_torn() {
                    let lost = self.run.lost.get();
                    if slot.firm == Content::Seal && lost.is_some_and(|lost| lost.slot == at) {
                        slot.firm = Content::OtherSeal;
                    }
                    slot.tear_erase(self.run.world.both_ways);
                } else {
                    *slot = Slot::BLANK;
                }
                let lost = self.run.lost.get().filter(|lost| lost.slot != at);
                self.run.lost.set(lost);
            }
            if end != End::Done {
                break;
            }
            let dead = self.run.world.dead.filter(|dead| dead.zeros != 0);
            if self.run.world.verifies && dead.is_some_and(|dead| dead.slot / SLOTS == page / SLOTS)
            {
                self.run
                    .tell(|| "finds a cell that is not erased".to_owned());
                return Err(NorFlashErrorKind::Other);
            }
        }
        Self::answer(end).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let at = slot_at(offset);
        let written = Content::from_bytes(bytes);
        let end = self.end();
        self.run
            .tell(|| format!("writes {written:?} to {}{}", Self::name(at), end.name()));
        {
            let slot = &mut self.run.slots.borrow_mut()[at];
            // A page is marked after its erase has failed: no matter what that leaves, if the mark
            // is read back.
            if self.run.world.write_once && written != Content::Mark && *slot != Slot::BLANK {
                self.run.was_overwritten.set(true);
            }
            if end.is_torn() {
                slot.tear_write(written);
            } else {
                slot.write(written);
            }
        }
        Self::answer(end).await
    }
}
