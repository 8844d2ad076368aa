//! Power cuts in each byte of each write and erase of the horizon, and again while it recovers.
//!
//! The promise: what a `raise` has answered is never forgotten, and nothing is invented. Two designs that
//! break it show that the model can tell.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod designs;
mod flash;
mod random;

use designs::{Design, Ours, TrustsBlankSlots, TrustsRecords};
use flash::{Flash, Grain, PAGE};
use randflake_core::HorizonStore;
use random::Random;

/// From bytes one after the other to all at once.
const GRAINS: [Grain; 5] = [
    Grain { write: 1, erase: 1 },
    Grain { write: 4, erase: 1 },
    Grain { write: 8, erase: 1 },
    Grain {
        write: 4,
        erase: PAGE,
    },
    Grain {
        write: 8,
        erase: PAGE,
    },
];

/// What a device has in its flash, and what it may have there.
#[derive(Clone)]
struct Device {
    flash: Flash,
    /// The highest horizon that was answered.
    promised: u32,
    /// The highest that was ever tried.
    tried: u32,
}

impl Device {
    fn new(grain: Grain) -> Self {
        Self {
            flash: Flash::new(grain),
            promised: 0,
            tried: 0,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Broken {
    Forgotten,
    Invented,
}

struct World {
    random: Random,
    /// How often the power was cut.
    cuts: u64,
}

impl World {
    /// One boot: recovers, compares with what was promised, and raises until the power is cut, after so many
    /// grains, or it was done so often. Says whether it was cut.
    fn live<D: Design>(
        &mut self,
        device: &mut Device,
        fuel: u32,
        raises: u32,
    ) -> Result<bool, Broken> {
        device.flash.boot(fuel, &mut self.random);
        let Ok(mut opened) = D::open(&mut device.flash) else {
            self.cuts += 1;
            return Ok(true);
        };
        if opened.unix_s() < device.promised {
            return Err(Broken::Forgotten);
        }
        if opened.unix_s() > device.tried {
            return Err(Broken::Invented);
        }
        for _ in 0..raises {
            // Seldom what was tried before the cut.
            let to = opened.unix_s() + 60 + self.random.below(8);
            device.tried = device.tried.max(to);
            if opened.raise(to).is_err() {
                self.cuts += 1;
                return Ok(true);
            }
            device.promised = to;
        }
        Ok(false)
    }

    /// A cut at each grain of the next boot, and from each of those again, so many boots deep, each under
    /// some of the ways in which torn bits may read.
    fn explore<D: Design>(&mut self, device: &Device, depth: u32) -> Result<(), Broken> {
        const READINGS: u32 = 3;
        const RAISES: u32 = 2;
        let mut fuel = 0;
        let mut is_cut = true;
        while is_cut {
            is_cut = false;
            for _ in 0..READINGS {
                let mut device = device.clone();
                let cut = self.live::<D>(&mut device, fuel, RAISES)?;
                is_cut |= cut;
                if cut && depth > 1 {
                    self.explore::<D>(&device, depth - 1)?;
                } else {
                    self.live::<D>(&mut device, u32::MAX, 1)?;
                }
            }
            fuel += 1;
        }
        Ok(())
    }

    /// [`explore`](Self::explore) from every state that undisturbed raising leads to.
    fn explore_all<D: Design>(&mut self, depth: u32, grains: &[Grain]) -> Result<(), Broken> {
        let slots = u32::try_from(2 * PAGE / 8).unwrap();
        for grain in grains {
            for raises in 0..=slots {
                let mut device = Device::new(*grain);
                self.live::<D>(&mut device, u32::MAX, raises)?;
                self.explore::<D>(&device, depth)?;
            }
        }
        Ok(())
    }

    /// Devices that boot a hundred times, mostly to be cut soon.
    fn endure<D: Design>(&mut self, devices: usize) -> Result<(), Broken> {
        for grain in GRAINS.iter().cycle().take(devices) {
            let mut device = Device::new(*grain);
            for _ in 0..100 {
                let longest = if self.random.below(4) == 0 { 400 } else { 12 };
                let (fuel, raises) = (self.random.below(longest), 1 + self.random.below(12));
                self.live::<D>(&mut device, fuel, raises)?;
            }
        }
        Ok(())
    }
}

fn world() -> World {
    World {
        random: Random(1),
        cuts: 0,
    }
}

#[test]
fn no_cut_makes_it_forget_or_invent() {
    let mut world = world();
    assert_eq!(world.explore_all::<Ours>(2, &GRAINS), Ok(()));
    // Fewer grains, deeper: chains of four cuts.
    assert_eq!(world.explore_all::<Ours>(4, &GRAINS[4..]), Ok(()));
    assert_eq!(world.endure::<Ours>(5_000), Ok(()));
    assert!(world.cuts >= 500_000, "{} cuts", world.cuts);
}

#[test]
fn a_design_that_trusts_blank_slots_is_broken() {
    let broken = Err(Broken::Forgotten);
    assert_eq!(world().explore_all::<TrustsBlankSlots>(2, &GRAINS), broken);
    assert_eq!(world().endure::<TrustsBlankSlots>(100), broken);
}

#[test]
fn a_design_that_trusts_records_is_broken() {
    let broken = Err(Broken::Forgotten);
    assert_eq!(world().explore_all::<TrustsRecords>(2, &GRAINS), broken);
    assert_eq!(world().endure::<TrustsRecords>(100), broken);
}
