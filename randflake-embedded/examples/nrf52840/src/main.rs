//! An nRF52840 with embassy. A press of the button asks for an id, which goes out over UART; who listens there may
//! tell the time.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: one task generates |
//! | node id | from the factory, with the key in UICR, which an update of the program leaves as it is |
//! | clock | starts at the horizon, so there are ids before anybody tells the time |
//! | horizon | the last two pages of flash; a block is begun when an id is asked for, so idle time wears nothing |
#![no_std]
#![no_main]

use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use embassy_executor::Spawner;
use embassy_nrf::gpio::{Input, Pull};
use embassy_nrf::nvmc::{FLASH_SIZE, Nvmc, PAGE_SIZE};
use embassy_nrf::uarte::{self, Uarte, UarteRx};
use embassy_nrf::{bind_interrupts, pac, peripherals};
use embassy_time::Delay;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, GenerateError, Generator, HorizonStore, Id, Lease, LocalWord,
    Randflake as Layout, Sparx64OnTheFly, TimeBounds, UnixClock,
};
use randflake_embedded::{EmbassyUptime, FlashPart, NorHorizon, id_string, wait_async};
use static_cell::StaticCell;

bind_interrupts!(struct Irqs {
    UARTE0 => uarte::InterruptHandler<peripherals::UARTE0>;
});

type Time = UnixClock<EmbassyUptime, AtomicU32>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly>;

static TIME: StaticCell<Time> = StaticCell::new();

/// Not the program's: `memory.x` leaves them out.
const HORIZON: Range<u32> = (FLASH_SIZE - 2 * PAGE_SIZE) as u32..FLASH_SIZE as u32;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let p = embassy_nrf::init(Default::default());
    let (grant, key) = factory();

    let flash = FlashPart::new(Nvmc::new(p.NVMC), HORIZON).unwrap();
    let horizon = NorHorizon::<_>::open(flash).unwrap();
    let floor = Duration::from_secs(horizon.unix_s().into());
    let bounds = TimeBounds::from_horizon(floor).within(&grant);
    let time: &Time = TIME.init(UnixClock::new(EmbassyUptime));
    time.set(bounds.start()).unwrap();

    let (mut tx, rx) = Uarte::new(p.UARTE0, p.P0_08, p.P0_06, Irqs, Default::default()).split();
    spawner.spawn(listen(rx, time, bounds).unwrap());

    let mut issuer = Issuer::new(Blocks::new(grant, horizon), time, key);
    let mut button = Input::new(p.P0_11, Pull::Up);
    loop {
        button.wait_for_falling_edge().await;
        let Ok(id) = issuer.next().await else {
            // Nothing was consumed. The next press tries again.
            continue;
        };
        for part in [id_string(id).as_bytes(), b"\r\n"] {
            // A listener that is gone does not stop the device.
            _ = tx.write(part).await;
        }
    }
}

/// The grant and the key that were programmed into the first registers of UICR for customers:
///
/// ```text
/// 0  node id | 1  first tick | 2  first tick after the grant | 4..8  key
/// ```
///
/// In a device that was not programmed they are all ones, which is no grant: it halts.
fn factory() -> (Lease<Layout>, Sparx64OnTheFly) {
    let register = |n| pac::UICR.customer(n).read();
    let grant = Lease::new(Layout, register(0), register(1).into(), register(2).into()).unwrap();
    let key = [4, 5, 6, 7].map(|n| register(n).to_le_bytes());
    let key = key.as_flattened().try_into().unwrap();
    (grant, Sparx64OnTheFly::new(key))
}

/// Ids of one block after the other.
struct Issuer<H> {
    blocks: Blocks<Layout, H>,
    time: &'static Time,
    key: Sparx64OnTheFly,
    ids: Option<Ids>,
}

impl<H: HorizonStore> Issuer<H> {
    fn new(blocks: Blocks<Layout, H>, time: &'static Time, key: Sparx64OnTheFly) -> Self {
        Self {
            blocks,
            time,
            key,
            ids: None,
        }
    }

    /// The next id. The lease is over while the flash refuses, and when the grant is used up.
    async fn next(&mut self) -> Result<Id, GenerateError> {
        const OVER: GenerateError = GenerateError::LeaseOver { since_ms: 0 };
        let answer = match &self.ids {
            Some(ids) => wait_async(&mut Delay, 2_000, || ids.generate()).await,
            None => Err(OVER),
        };
        // At the first id, a minute after the block began, and when the time was set past its end.
        if !matches!(answer, Err(GenerateError::LeaseOver { .. })) {
            return answer;
        }
        let lease = self.blocks.begin(self.time.now()).map_err(|_| OVER)?;
        let ids = Ids::new(lease, self.time, self.key.clone()).map_err(|_| OVER)?;
        self.ids.insert(ids).generate()
    }
}

/// Whoever listens to the ids may send the time: four bytes, Unix seconds, most significant first. It is
/// believed from the horizon to the end of the grant.
#[embassy_executor::task]
async fn listen(mut rx: UarteRx<'static>, time: &'static Time, bounds: TimeBounds) {
    let mut seconds = [0; 4];
    loop {
        if rx.read(&mut seconds).await.is_ok() {
            let told = Duration::from_secs(u32::from_be_bytes(seconds).into());
            // Out of the clock's range: it stays as it was.
            _ = time.set_within(told, &bounds);
        }
    }
}
