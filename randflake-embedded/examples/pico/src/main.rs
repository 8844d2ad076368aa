//! A Raspberry Pi Pico (Cortex-M0+) without an operating system: an interrupt takes a sample a
//! hundred times a second, and gives each an id; main sends the ids over UART, and has one of its
//! own for each line.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>` in a mutex of critical sections, which main and the interrupt lock for one id |
//! | node id | from the factory, with the key in a page of flash |
//! | clock | starts at the horizon, and counts the chip's microseconds |
//! | horizon | the last three pages of flash; a block a minute; tried again at a pace if the flash refuses |
//! | power | main sleeps between samples |
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::ops::Range;
use core::time::Duration;

use critical_section::Mutex;
use embassy_rp::flash::{Blocking, ERASE_SIZE, Flash};
use embassy_rp::interrupt::{self, InterruptExt};
use embassy_rp::pac;
use embassy_rp::peripherals::FLASH;
use embassy_rp::uart::{self, UartTx};
use heapless::spsc::{Producer, Queue};
use pace::Pace;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, DEFAULT_BLOCK_S, FlashHorizonError, Generator, HorizonError, HorizonStore, Id,
    Lease, LocalWord, Monotonic, Randflake as Layout, Sparx64OnTheFly, TimeBounds, UnixClock,
    Uptime,
};
use randflake_embedded::{CriticalSectionWord, FlashHorizon, FlashPart, id_string};
use static_cell::StaticCell;

/// A tick of the counter is a microsecond; a tick of the ids is a second.
type Time = UnixClock<Uptime<1_000_000, fn() -> u32, CriticalSectionWord>, CriticalSectionWord>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly, u32>;
type MyFlash = Flash<'static, FLASH, Blocking, FLASH_SIZE>;
type Tx = UartTx<'static, uart::Blocking>;

/// What main and the interrupt share: a clock that both read at any time, and a generator.
static TIME: Time = UnixClock::new(Uptime::since_zero(microseconds));
static IDS: Mutex<RefCell<Option<Ids>>> = Mutex::new(RefCell::new(None));

/// From main to the interrupt.
static SAMPLES: Mutex<RefCell<Option<Producer<'static, Option<Id>>>>> =
    Mutex::new(RefCell::new(None));

/// The last four pages of the flash, which `memory.x` leaves out.
const FLASH_SIZE: usize = 2 * 1024 * 1024;
const PAGE: u32 = ERASE_SIZE as u32;
const HORIZON: Range<u32> = FLASH_SIZE as u32 - 3 * PAGE..FLASH_SIZE as u32;
const FACTORY: u32 = HORIZON.start - PAGE;

/// A wrong time puts ids ahead by at most the largest step and a block. When it is corrected, there
/// are ids all the same.
const TOLERANCE_S: u32 = TimeBounds::DEFAULT_MAX_STEP.as_secs() as u32 + DEFAULT_BLOCK_S;

#[cortex_m_rt::entry]
fn main() -> ! {
    static QUEUE: StaticCell<Queue<Option<Id>, 64>> = StaticCell::new();

    let p = embassy_rp::init(Default::default());
    let mut tx = UartTx::new_blocking(p.UART0, p.PIN_0, Default::default());
    let mut flash = MyFlash::new_blocking(p.FLASH);
    let Some((grant, key)) = factory(&mut flash) else {
        stop(&mut tx, "this device is not provisioned");
    };
    let pages = FlashPart::new(flash, HORIZON).unwrap();
    let horizon = match FlashHorizon::<_>::open(pages) {
        Ok(horizon) => horizon,
        Err(FlashHorizonError::Version(_)) => stop(
            &mut tx,
            "the horizon has another format: install the former program",
        ),
        Err(_) => stop(&mut tx, "the flash cannot be read"),
    };

    let floor = Duration::from_secs(horizon.unix_s().into());
    let bounds = TimeBounds::from_horizon(floor).within(&grant);
    // A time that is received later goes to `TIME.set_within(told, &bounds)`.
    TIME.set(bounds.start()).unwrap();

    let mut issuer = Issuer {
        blocks: Blocks::new(grant, horizon),
        key,
        tx,
        pace: Pace::new(),
    };
    let (queue, mut samples) = QUEUE.init(Queue::new()).split();
    critical_section::with(|cs| SAMPLES.replace(cs, Some(queue)));
    start_sampling();
    loop {
        if let Some(id) = samples.dequeue() {
            issuer.send(id);
        } else {
            // Until the next sample at the latest.
            cortex_m::asm::wfi();
        }
    }
}

/// The next id, for the main loop and the interrupt; `None` while there is no block.
fn generate() -> Option<Id> {
    critical_section::with(|cs| IDS.borrow_ref(cs).as_ref()?.generate().ok())
}

/// State that the main loop owns.
struct Issuer<H> {
    blocks: Blocks<Layout, H>,
    key: Sparx64OnTheFly,
    tx: Tx,
    pace: Pace,
}

impl<H: HorizonStore> Issuer<H> {
    /// Sends the id of a sample; one without an id came when a block was over, and gets the first
    /// of the next.
    fn send(&mut self, id: Option<Id>) {
        if let Some(id) = id.or_else(generate).or_else(|| self.begin()) {
            say(&mut self.tx, &id_string(id));
        }
    }

    /// Begins the next block of the grant, which is durable before there are ids of it. With the
    /// tolerance, nothing but the end of a block stops a generator.
    fn begin(&mut self) -> Option<Id> {
        let uptime = TIME.monotonic().uptime();
        if !self.pace.is_due(uptime) {
            return None;
        }
        match self.blocks.begin(TIME.now()) {
            Ok(lease) => {
                self.pace.succeeded();
                let ids = Ids::new(lease, &TIME, self.key.clone()).ok()?;
                let ids = ids.with_tolerance(TOLERANCE_S);
                critical_section::with(|cs| IDS.replace(cs, Some(ids)));
                generate()
            }
            // The flash refused. A sample after the pause tries again; too many tries would wear it
            // out.
            Err(HorizonError::Store(_)) => {
                self.pace.failed(uptime);
                if self.pace.is_over() {
                    stop(&mut self.tx, "the flash refuses: replace the device");
                }
                None
            }
            Err(HorizonError::Lost) => stop(
                &mut self.tx,
                "the horizon is lost: this grant must be replaced",
            ),
            Err(_) => stop(&mut self.tx, "the grant is used up: it must be replaced"),
        }
    }
}

fn say(tx: &mut Tx, line: &str) {
    for part in [line.as_bytes(), b"\r\n"] {
        // A listener that is gone does not stop the device.
        _ = tx.blocking_write(part);
    }
}

/// For good, at each boot until the device is provisioned with another grant.
fn stop(tx: &mut Tx, why: &str) -> ! {
    loop {
        say(tx, why);
        cortex_m::asm::delay(125_000_000);
    }
}

/// The grant and the key that the factory wrote, as `randflake lease provision` does:
///
/// ```text
/// 0  node id | 4  first tick | 8  first tick after the grant | 12  version, 1 | 16..32  key    little-endian
/// ```
///
/// In a device that was not provisioned they are all ones.
fn factory(flash: &mut MyFlash) -> Option<(Lease<Layout>, Sparx64OnTheFly)> {
    let mut words = [[0; 4]; 8];
    let bytes = words.as_flattened_mut();
    flash.blocking_read(FACTORY, bytes).ok()?;
    let [node_id, start, end, version, key @ ..] = words;
    let grant = [node_id, start, end, version].map(u32::from_le_bytes);
    let grant = Lease::from_words(Layout, grant).ok()?;
    let key = key.as_flattened().first_chunk()?;
    Some((grant, Sparx64OnTheFly::new(key)))
}

/// The chip's timer: it counts from 0 since the reset, and wraps after 71 minutes.
fn microseconds() -> u32 {
    pac::TIMER.timerawl().read()
}

const SAMPLE_US: u32 = 10_000;

fn start_sampling() {
    pac::TIMER.inte().modify(|w| w.set_alarm(1, true));
    pac::TIMER
        .alarm(1)
        .write_value(microseconds().wrapping_add(SAMPLE_US));
    // SAFETY: what the interrupt uses has been set up, and nothing relies on its being masked.
    unsafe { interrupt::TIMER_IRQ_1.enable() };
}

#[cortex_m_rt::interrupt]
fn TIMER_IRQ_1() {
    pac::TIMER.intr().write(|w| w.set_alarm(1, true));
    pac::TIMER
        .alarm(1)
        .write_value(microseconds().wrapping_add(SAMPLE_US));
    let id = generate();
    critical_section::with(|cs| {
        if let Some(samples) = &mut *SAMPLES.borrow_ref_mut(cs) {
            // A full queue loses the sample, never repeats its id.
            _ = samples.enqueue(id);
        }
    });
}
