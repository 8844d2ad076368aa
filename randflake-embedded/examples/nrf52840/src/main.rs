//! An nRF52840 with embassy. A press of the button asks for an id, which goes out over UART; who listens there may
//! tell the time.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: one task generates |
//! | node id | from the factory, with the key in UICR, which an update of the program leaves as it is |
//! | clock | starts at the horizon, so there are ids before anybody tells the time |
//! | horizon | the last two pages of flash; a block is begun when an id is asked for, so idle time wears nothing |
//!
//! It sends ids, or the reason for which it has stopped: the horizon is lost, or the grant used up. Both ask for another
//! grant, which the factory writes with a first horizon: `randflake lease provision`.
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
use heapless::String;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, DEFAULT_BLOCK_S, GenerateError, Generator, HorizonError, HorizonStore, Id,
    Lease, LocalWord, Randflake as Layout, Sparx64OnTheFly, TimeBounds, UnixClock,
};
use randflake_embedded::{EmbassyUptime, FlashPart, NorHorizon, id_string, wait_async};

bind_interrupts!(struct Irqs {
    UARTE0 => uarte::InterruptHandler<peripherals::UARTE0>;
});

type Time = UnixClock<EmbassyUptime, AtomicU32>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly, u32>;

static TIME: Time = UnixClock::new(EmbassyUptime);

/// How far ahead a time is believed that is not authenticated; and how far ids may be ahead when it is corrected.
const MAX_STEP: Duration = Duration::from_secs(86_400);
const TOLERANCE_S: u32 = MAX_STEP.as_secs() as u32 + DEFAULT_BLOCK_S;

/// Not the program's: `memory.x` leaves them out.
const HORIZON: Range<u32> = (FLASH_SIZE - 2 * PAGE_SIZE) as u32..FLASH_SIZE as u32;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let p = embassy_nrf::init(Default::default());
    let (grant, key) = factory();

    let flash = FlashPart::new(Nvmc::new(p.NVMC), HORIZON).unwrap();
    let horizon = NorHorizon::<_>::open(flash).unwrap();
    let floor = Duration::from_secs(horizon.unix_s().into());
    let bounds = TimeBounds::from_horizon(floor)
        .within(&grant)
        .with_max_step(MAX_STEP);
    let time = &TIME;
    time.set(bounds.start()).unwrap();

    let (mut tx, rx) = Uarte::new(p.UARTE0, p.P0_08, p.P0_06, Irqs, Default::default()).split();
    spawner.spawn(listen(rx, time, bounds).unwrap());

    let mut issuer = Issuer::new(Blocks::new(grant, horizon), time, key);
    let mut button = Input::new(p.P0_11, Pull::Up);
    loop {
        button.wait_for_falling_edge().await;
        let line = match issuer.next().await {
            Ok(id) => id_string(id),
            // Nothing was consumed. The next press tries again.
            Err(Stopped::ForNow) => continue,
            // Each press says so again.
            Err(Stopped::HorizonLost) => String::try_from("horizon lost").unwrap(),
            Err(Stopped::GrantUsed) => String::try_from("grant used").unwrap(),
        };
        for part in [line.as_bytes(), b"\r\n"] {
            // A listener that is gone does not stop the device.
            _ = tx.write(part).await;
        }
    }
}

/// Why there is no id.
enum Stopped {
    /// The flash refused, or a second is exhausted.
    ForNow,
    /// For good: its pages were erased, so the grant may have been used further than is known.
    HorizonLost,
    /// The grant is used up for good.
    GrantUsed,
}

impl<E> From<HorizonError<E>> for Stopped {
    fn from(error: HorizonError<E>) -> Self {
        match error {
            HorizonError::Store(_) => Self::ForNow,
            HorizonError::Lost => Self::HorizonLost,
            _ => Self::GrantUsed,
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

    async fn next(&mut self) -> Result<Id, Stopped> {
        if let Some(ids) = &self.ids {
            match wait_async(&mut Delay, 2_000, || ids.generate()).await {
                Ok(id) => return Ok(id),
                Err(GenerateError::LeaseOver { .. }) => {}
                Err(_) => return Err(Stopped::ForNow),
            }
        }
        // At the first id, a minute after the block began, and when the time was set past its end.
        let lease = self.blocks.begin(self.time.now())?;
        let ids = Generator::new(lease, self.time, self.key.clone());
        let ids = ids
            .map_err(|_| Stopped::ForNow)?
            .with_tolerance(TOLERANCE_S);
        self.ids.insert(ids).generate().map_err(|_| Stopped::ForNow)
    }
}

/// Whoever listens to the ids may send the time: four bytes, Unix seconds, most significant first. It is
/// believed from the horizon to the end of the grant, and no more than a day ahead: whoever sends a wrong one wastes a
/// day of the grant in each boot, and no more.
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
