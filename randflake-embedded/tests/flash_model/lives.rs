//! Devices that live by chance: they boot, issue blocks of ids, lose power, and boot again.

use core::cell::RefCell;
use core::fmt;
use core::ops::AddAssign;
use core::pin::pin;

use randflake_core::{AsyncHorizonStore, Blocks, HorizonError, Lease, Randflake};

use super::bits::Random;
use super::bits::{Boot, Flash, Habits, Memory};
use super::designs::{Design, Store};
use super::explore::poll;

/// What devices have seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) devices: u64,
    pub(crate) boots: u64,
    pub(crate) cuts: u64,
    /// Operations that failed and futures that were dropped, while there was power.
    pub(crate) failures: u64,
    pub(crate) lost_bits: u64,
    pub(crate) blocks: u64,
    /// Blocks that begin before an earlier one has ended: their ids are repeated.
    pub(crate) overlaps: u64,
    /// Boots that know no horizon.
    pub(crate) lost: u64,
    /// Raises that failed although every operation of theirs succeeded.
    pub(crate) refused: u64,
    /// Slots that were written and might not have been blank.
    pub(crate) overwritten: u64,
    /// Horizons that nobody raised to: noise that was taken for a record.
    pub(crate) accidents: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.devices += other.devices;
        self.boots += other.boots;
        self.cuts += other.cuts;
        self.failures += other.failures;
        self.lost_bits += other.lost_bits;
        self.blocks += other.blocks;
        self.overlaps += other.overlaps;
        self.lost += other.lost;
        self.refused += other.refused;
        self.overwritten += other.overwritten;
        self.accidents += other.accidents;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            devices,
            boots,
            cuts,
            failures,
            lost_bits,
            blocks,
            overlaps,
            lost,
            refused,
            overwritten,
            accidents,
        } = self;
        write!(
            f,
            "{devices} devices, {boots} boots, {cuts} cuts, {failures} failures, {lost_bits} lost bits, {blocks} blocks: \
             {overlaps} overlaps, {lost} lost horizons, {refused} refusals, {overwritten} slots written twice, \
             {accidents} records by accident"
        )
    }
}

/// Where ids of the layout begin.
const EPOCH_UNIX_S: u32 = 1_730_000_000;
const GRANT_S: u64 = 1 << 30;

/// How often a device is cut.
const CUTS: u64 = 1_000;
/// How many raises in a row are not answered at most, whatever goes wrong in them.
const UNANSWERED: u32 = 2;

/// The life of one device.
pub(crate) fn live<D: Design, const SLOT: usize, const PAGE: usize>(
    seed: u64,
    pages: u32,
) -> Tally {
    let mut random = Random(seed);
    let bytes = pages as usize * PAGE;
    let habits = habits(&mut random, bytes);
    // A record that has a dead cell and a lost bit is beyond what is promised.
    let loses_bits = habits.dead.is_none() && random.below(2) == 0;
    let random = RefCell::new(random);
    let below = |bound| random.borrow_mut().below(bound);
    let mut device = Device {
        memory: Memory::new(bytes),
        issued_until: 0,
        tried: EPOCH_UNIX_S,
        in_a_row: 0,
        tally: Tally {
            devices: 1,
            ..Tally::default()
        },
    };
    let calm = Habits {
        one_fails_of: 0,
        ..habits
    };
    device.boot::<D, SLOT, PAGE>(&Boot::new(&random, calm, u32::MAX), 0, true);
    while device.tally.cuts < CUTS {
        if loses_bits && device.memory.lost.is_none() && below(8) == 0 {
            let bit = below(u32::try_from(8 * bytes).unwrap());
            device.memory.lost = Some(bit as usize);
            device.tally.lost_bits += 1;
        }
        // Mostly while a page is begun; now and then after many blocks, or never.
        let fuel = match below(16) {
            0 => u32::MAX,
            1 => below(1_000),
            _ => below(8),
        };
        let raises = if fuel == u32::MAX { below(4) } else { fuel + 1 };
        let fuel = if device.in_a_row < UNANSWERED {
            fuel
        } else {
            u32::MAX
        };
        let boot = Boot::new(&random, habits, fuel);
        device.boot::<D, SLOT, PAGE>(&boot, raises.max(1), false);
    }
    device.tally
}

fn habits(random: &mut Random, bytes: usize) -> Habits {
    let bits = u32::try_from(8 * bytes).unwrap();
    Habits {
        both_ways: random.below(2) == 0,
        unreadable: random.below(2) == 0,
        one_fails_of: [0, 5, 40][random.below(3) as usize],
        dead: (random.below(4) == 0).then(|| (random.below(bits) as usize, random.below(2) == 0)),
        verifies: random.below(2) == 0,
    }
}

struct Device {
    memory: Memory,
    /// Where the blocks end that were issued.
    issued_until: u64,
    /// The highest horizon that was raised to.
    tried: u32,
    in_a_row: u32,
    tally: Tally,
}

impl Device {
    /// From one loss of power to the next.
    fn boot<D: Design, const SLOT: usize, const PAGE: usize>(
        &mut self,
        boot: &Boot<'_>,
        raises: u32,
        provisions: bool,
    ) {
        self.tally.boots += 1;
        let flash = Flash::<SLOT, PAGE> {
            memory: &mut self.memory,
            boot,
        };
        let Some(Some(store)) = poll(pin!(D::open::<_, SLOT>(flash))) else {
            self.tally.lost += 1;
            return;
        };
        let grant = Lease::new(Randflake, 1, 0, GRANT_S).unwrap();
        let mut blocks = Blocks::new(grant, store).with_block_s(4);
        if provisions {
            let provisioned = poll(pin!(blocks.provision_async()));
            assert!(provisioned.is_some_and(|provisioned| provisioned.is_ok()));
            self.tried = boot.highest.get();
            return;
        }
        if blocks.store().unix_s() > self.tried {
            self.tally.accidents += 1;
            self.tried = blocks.store().unix_s();
        }
        boot.may_fail.set(self.in_a_row < UNANSWERED);
        for _ in 0..raises {
            boot.has_failed.set(false);
            let has_time = D::ERASES_AHEAD && boot.random.borrow_mut().below(4) == 0;
            if has_time && !erases_ahead(&mut blocks, boot) {
                self.in_a_row += 1;
                self.tally.failures += u64::from(boot.has_failed.replace(false));
                if boot.is_off.get() {
                    self.tally.cuts += 1;
                    break;
                }
                spare(boot, self.in_a_row);
            }
            let begun = poll(pin!(blocks.begin_async(None)));
            // A failed raise may be found later.
            self.tried = self.tried.max(boot.highest.get());
            self.in_a_row += 1;
            match begun {
                Some(Ok(lease)) => {
                    self.tally.blocks += 1;
                    self.tally.overlaps += u64::from(lease.start() < self.issued_until);
                    self.issued_until = lease.end();
                    self.in_a_row = 0;
                }
                Some(Err(HorizonError::Lost)) => {
                    self.tally.lost += 1;
                    break;
                }
                _ if boot.is_off.get() => {
                    self.tally.cuts += 1;
                    break;
                }
                _ if boot.has_failed.get() => self.tally.failures += 1,
                _ => self.tally.refused += 1,
            }
            spare(boot, self.in_a_row);
        }
        self.tally.overwritten += u64::from(boot.was_overwritten.get());
    }
}

/// Makes room for some raises; whether that succeeded.
fn erases_ahead<S: Store>(blocks: &mut Blocks<Randflake, S>, boot: &Boot<'_>) -> bool {
    let raises = 1 << boot.random.borrow_mut().below(9);
    let horizon = blocks.store().unix_s();
    let erased = poll(pin!(blocks.store_mut().erase_ahead(raises)));
    assert_eq!(blocks.store().unix_s(), horizon);
    erased == Some(true)
}

/// No more goes wrong than is promised to do no harm.
fn spare(boot: &Boot<'_>, in_a_row: u32) {
    if in_a_row >= UNANSWERED {
        boot.may_fail.set(false);
        boot.fuel.set(u32::MAX);
    }
}
