//! Power is cut in each word that is written or erased, and again while the map repairs itself: the horizon is never
//! forgotten and never invented, and no id of a block comes twice.

mod flash;

use ecc_flash::MapHorizon;
use embassy_futures::block_on;
use flash::{Cut, Error, Flash, SIZE};
use randflake_embedded::randflake_core::{Blocks, HorizonError, HorizonStore, Lease, Randflake};
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

const HORIZON: u8 = 1;
const SETTING: u8 = 2;

type Opened<'a> = MapHorizon<&'a mut Flash, Cache<Uncached, Uncached, Uncached, u8>>;
type MapError = sequential_storage::Error<Error>;

fn open(flash: &mut Flash) -> Result<Opened<'_>, MapError> {
    let config = const { MapConfig::new(0..SIZE as u32) };
    MapHorizon::open(
        MapStorage::new(flash, config, Cache::new_uncached()),
        HORIZON,
    )
}

struct Device {
    flash: Flash,
    /// The end of the last block that was begun.
    promised: u64,
    /// The highest horizon that may have been written.
    tried: u32,
}

impl Device {
    /// A boot: begins blocks until the power is cut, or it was done so often; between them the program writes a
    /// setting of its own. Says whether it was cut.
    fn live(&mut self, fuel: u32, blocks: u32) -> bool {
        self.flash.fuel = fuel;
        let lived = self.try_to_live(blocks);
        let is_cut = matches!(
            lived,
            Err(MapError::Storage {
                value: Error::PowerCut,
                ..
            })
        );
        assert!(is_cut || lived.is_ok(), "{lived:?}");
        is_cut
    }

    fn try_to_live(&mut self, blocks: u32) -> Result<(), MapError> {
        let mut horizon = open(&mut self.flash)?;
        assert!(horizon.unix_s() <= self.tried, "invented");
        let grant = Lease::new(Randflake, 42, 0, 1 << 29).unwrap();
        if self.promised == 0 && horizon.unix_s() == 0 {
            // Where it is made.
            self.tried = 1_730_000_000;
            match Blocks::new(grant, &mut horizon).provision() {
                Err(HorizonError::Store(error)) => return Err(error),
                provisioned => provisioned.unwrap(),
            }
        }
        for n in 0..blocks {
            self.tried = horizon.unix_s().max(1_730_000_000) + 60;
            let lease = match Blocks::new(grant, &mut horizon).begin(None) {
                Err(HorizonError::Store(error)) => return Err(error),
                lease => lease.unwrap(),
            };
            assert!(lease.start() >= self.promised, "forgotten");
            self.promised = lease.end();
            let mut buffer = [0; 32];
            block_on(horizon.map().store_item(&mut buffer, &SETTING, &n))?;
        }
        Ok(())
    }
}

#[test]
fn no_cut_makes_it_forget_or_invent() {
    const CUTS: [Cut; 4] = [
        Cut::Unchanged,
        Cut::Changed,
        Cut::Torn([0; 8]),
        Cut::Torn([0x5a, 0xff, 0, 0x13, 0xff, 0xff, 0, 0x80]),
    ];
    const BLOCKS: u32 = 40;
    let mut cuts = 0;
    for cut in CUTS {
        for first in 0.. {
            let mut device = Device {
                flash: Flash::new(),
                promised: 0,
                tried: 0,
            };
            device.flash.cut = cut;
            if !device.live(first, BLOCKS) {
                break;
            }
            cuts += 1;
            // Again at once, in what the map does to repair itself, and in later work.
            for again in [0, 1, 2, 5, 9, 33] {
                cuts += u32::from(device.live(again, 9));
            }
            device.live(u32::MAX, 2);
        }
    }
    assert!(cuts > 2_000, "{cuts} cuts");
}

/// The pages were used, and used again.
#[test]
fn it_goes_round_the_pages() {
    let mut device = Device {
        flash: Flash::new(),
        promised: 0,
        tried: 0,
    };
    let raises = u32::try_from(SIZE / flash::WORD).unwrap();
    assert!(!device.live(u32::MAX, raises));
    assert_eq!(
        open(&mut device.flash).unwrap().unix_s(),
        1_730_000_000 + 60 * raises
    );
}
