//! An nRF52840 with embassy. A press of the button asks for an id, which goes out over UART; who
//! listens there may tell the time.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: one task generates |
//! | node id | from the factory, with the key in UICR, which an update of the program leaves as it is |
//! | clock | starts at the horizon, so there are ids before anybody tells the time |
//! | horizon | the last three pages of flash, by an async driver; a block is begun when an id is asked for, so idle time wears nothing; tried again at a pace if the flash refuses |
//! | power | the executor sleeps until somebody asks |
//!
//! It sends ids, or the reason for which it has stopped: it was not provisioned, the horizon is
//! lost, or the grant used up. Each asks for another grant, which the factory writes with a first
//! horizon: `randflake lease provision`.
#![no_std]
#![no_main]

use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_embedded_hal::flash::partition::Partition;
use embassy_executor::Spawner;
use embassy_nrf::gpio::{Input, Pull};
use embassy_nrf::nvmc::{FLASH_SIZE, Nvmc, PAGE_SIZE};
use embassy_nrf::uarte::{self, Uarte, UarteRx, UarteTx};
use embassy_nrf::{bind_interrupts, pac, peripherals};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Delay, Timer};
use heapless::String;
use pace::Pace;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    AsyncHorizonStore, Blocks, Clock, DEFAULT_BLOCK_S, FlashHorizonError, GenerateError, Generator,
    HorizonError, Id, Lease, LeaseError, LocalWord, Monotonic, Randflake as Layout,
    Sparx64OnTheFly, TimeBounds, UnixClock,
};
use randflake_embedded::{EmbassyUptime, FlashHorizon, id_string, wait_async};

bind_interrupts!(struct Irqs {
    UARTE0 => uarte::InterruptHandler<peripherals::UARTE0>;
});

type Time = UnixClock<EmbassyUptime, AtomicU32>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly, u32>;

static TIME: Time = UnixClock::new(EmbassyUptime);

/// How far ahead a time is believed that is not authenticated; and how far ids may be ahead when it
/// is corrected.
const MAX_STEP: Duration = Duration::from_secs(86_400);
const TOLERANCE_S: u32 = MAX_STEP.as_secs() as u32 + DEFAULT_BLOCK_S;

/// Not the program's: `memory.x` leaves them out.
const HORIZON: Range<u32> = (FLASH_SIZE - 3 * PAGE_SIZE) as u32..FLASH_SIZE as u32;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let p = embassy_nrf::init(Default::default());
    let (mut tx, rx) = Uarte::new(p.UARTE0, p.P0_08, p.P0_06, Irqs, Default::default()).split();
    let (grant, key) = match factory() {
        Ok(factory) => factory,
        Err(_) => stop(&mut tx, "this device is not provisioned").await,
    };

    let flash = Mutex::<NoopRawMutex, _>::new(BlockingAsync::new(Nvmc::new(p.NVMC)));
    let pages = Partition::new(&flash, HORIZON.start, HORIZON.end - HORIZON.start);
    let horizon = match FlashHorizon::<_>::open_async(pages).await {
        Ok(horizon) => horizon,
        Err(FlashHorizonError::Version(_)) => stop(&mut tx, "the horizon has another format").await,
        Err(_) => stop(&mut tx, "the flash cannot be read").await,
    };

    let floor = Duration::from_secs(horizon.unix_s().into());
    let bounds = TimeBounds::from_horizon(floor)
        .within(&grant)
        .with_max_step(MAX_STEP);
    TIME.set(bounds.start()).unwrap();
    spawner.spawn(listen(rx, bounds).unwrap());

    let mut issuer = Issuer {
        blocks: Blocks::new(grant, horizon),
        key,
        ids: None,
        pace: Pace::new(),
    };
    let mut button = Input::new(p.P0_11, Pull::Up);
    loop {
        button.wait_for_falling_edge().await;
        match issuer.next().await {
            Ok(id) => say(&mut tx, &id_string(id)).await,
            // Nothing was consumed. The next press tries again.
            Err(Stopped::ForNow) => {}
            Err(Stopped::HorizonLost) => stop(&mut tx, "the horizon is lost").await,
            Err(Stopped::GrantUsed) => stop(&mut tx, "the grant is used up").await,
            Err(Stopped::FlashFails) => stop(&mut tx, "the flash refuses").await,
        }
    }
}

async fn say(tx: &mut UarteTx<'static>, line: &str) {
    let line: String<64> = [line, "\r\n"].into_iter().collect();
    // A listener that is gone does not stop the device.
    _ = tx.write(line.as_bytes()).await;
}

/// Says why there are no ids, every second: another grant is needed.
async fn stop(tx: &mut UarteTx<'static>, why: &str) -> ! {
    loop {
        say(tx, why).await;
        Timer::after_secs(1).await;
    }
}

/// Why there is no id.
enum Stopped {
    /// The flash refused a while ago, or a second is exhausted.
    ForNow,
    /// The flash has refused too often: further tries would wear it out.
    FlashFails,
    /// For good: its pages were erased, so the grant may have been used further than is known.
    HorizonLost,
    /// The grant is used up for good.
    GrantUsed,
}

/// The grant and the key that were programmed into the first registers of UICR for customers:
///
/// ```text
/// 0  node id | 1  first tick | 2  first tick after the grant | 3  version, 1 | 4..8  key
/// ```
///
/// In a device that was not provisioned they are all ones.
fn factory() -> Result<(Lease<Layout>, Sparx64OnTheFly), LeaseError> {
    let register = |n| pac::UICR.customer(n).read();
    let grant = Lease::from_words(Layout, [0, 1, 2, 3].map(register))?;
    let key: [[u8; 4]; 4] = [4, 5, 6, 7].map(|n| register(n).to_le_bytes());
    let key = key.as_flattened().first_chunk().unwrap();
    Ok((grant, Sparx64OnTheFly::new(key)))
}

/// Ids of one block after the other.
struct Issuer<H> {
    blocks: Blocks<Layout, H>,
    key: Sparx64OnTheFly,
    ids: Option<Ids>,
    pace: Pace,
}

impl<H: AsyncHorizonStore> Issuer<H> {
    /// The next id. At the end of a block it begins another one, which is in flash before there is
    /// an id of it; who drops the future loses no more than that block.
    async fn next(&mut self) -> Result<Id, Stopped> {
        if let Some(ids) = &self.ids {
            // For at most two seconds, if all ids of a second are issued.
            match wait_async(&mut Delay, 2_000, || ids.generate()).await {
                Ok(id) => return Ok(id),
                Err(GenerateError::LeaseOver { .. }) => {}
                Err(_) => return Err(Stopped::ForNow),
            }
        }
        let lease = self.begin().await?;
        let ids = Ids::new(lease, &TIME, self.key.clone()).map_err(|_| Stopped::ForNow)?;
        let ids = self.ids.insert(ids.with_tolerance(TOLERANCE_S));
        ids.generate().map_err(|_| Stopped::ForNow)
    }

    /// Begins a block, at a pace if the flash refuses.
    async fn begin(&mut self) -> Result<Lease<Layout>, Stopped> {
        let uptime = EmbassyUptime.uptime();
        if !self.pace.is_due(uptime) {
            return Err(Stopped::ForNow);
        }
        match self.blocks.begin_async(TIME.now()).await {
            Ok(lease) => {
                self.pace.succeeded();
                Ok(lease)
            }
            Err(HorizonError::Store(_)) => {
                self.pace.failed(uptime);
                Err(if self.pace.is_over() {
                    Stopped::FlashFails
                } else {
                    Stopped::ForNow
                })
            }
            Err(HorizonError::Lost) => Err(Stopped::HorizonLost),
            Err(_) => Err(Stopped::GrantUsed),
        }
    }
}

/// The receiver of the ids may send the time: four bytes, Unix seconds, most significant first. It
/// is believed from the horizon to the end of the grant, and no more than a day ahead: a sender of
/// a wrong one wastes a day of the grant in each boot, and no more.
#[embassy_executor::task]
async fn listen(mut rx: UarteRx<'static>, bounds: TimeBounds) {
    let mut seconds = [0; 4];
    loop {
        if rx.read(&mut seconds).await.is_ok() {
            let told = Duration::from_secs(u32::from_be_bytes(seconds).into());
            // Out of the clock's range: it stays as it was.
            _ = TIME.set_within(told, &bounds);
        }
    }
}
