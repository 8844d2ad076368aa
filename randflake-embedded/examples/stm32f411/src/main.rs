//! An STM32F411 that sleeps in standby, which loses RAM and ends in a reset: every ten minutes it counts the pulses on a
//! pin for a minute, gives each an id in the interrupt, and sends them over UART.
//!
//! | | |
//! |---|---|
//! | word | `AtomicU32`: the interrupt generates, and so does main |
//! | node id | from the factory, with the key in the chip's memory that is programmed once |
//! | clock | the chip's real-time clock, which runs through standby, sets it at each boot |
//! | horizon | the last sectors of flash; a block of six hours, whose rest is kept in registers of the real-time clock while the chip sleeps; if the horizon is lost, the device says so and sleeps on |
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::fmt::Write;
use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use cortex_m::peripheral::SCB;
use critical_section::Mutex;
use heapless::spsc::{Producer, Queue};
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, Generator, HorizonStore, Id, Layout as _, Lease, LeaseError, Monotonic,
    Randflake as Layout, RetainedMemory, Sparx64OnTheFly, TimeBounds, UnixClock, Uptime,
};
use randflake_embedded::{FlashHorizon, FlashPart};
use static_cell::StaticCell;
use stm32f4xx_hal::flash::{FlashExt, LockedFlash};
use stm32f4xx_hal::gpio::{Edge, Input, PA0};
use stm32f4xx_hal::pac::rtc::BKPR;
use stm32f4xx_hal::pac::{self, interrupt};
use stm32f4xx_hal::prelude::*;
use stm32f4xx_hal::rtc::{Event, Rtc};

type Time = UnixClock<Uptime<1_000_000, fn() -> u32, AtomicU32>, AtomicU32>;
type Ids = Generator<Layout, AtomicU32, &'static Time, Sparx64OnTheFly, u32>;

static TIME: Time = UnixClock::new(Uptime::since_zero(microseconds));
static IDS: StaticCell<Ids> = StaticCell::new();
static QUEUE: StaticCell<Queue<Id, 64>> = StaticCell::new();

/// Sectors 5 to 7, of 128 KiB each, counted from the flash's beginning; `memory.x` leaves them out. An erase stops the
/// program for a second or two, with each block: four times a day.
const HORIZON: Range<u32> = 128 * 1024..512 * 1024;

const AWAKE: Duration = Duration::from_secs(60);
/// A block is begun four times a day, and after a power cut, which puts ids up to six hours ahead.
const BLOCK_S: u32 = 6 * 3_600;

/// How far past the rest of a block, or the horizon, the real-time clock is believed at a wake: a wrong one wastes no more
/// of the grant. Off for longer, the device catches up by as much at each wake.
const MAX_STEP: Duration = Duration::from_secs(86_400);
/// When a wrong time is corrected, ids go on where they were.
const TOLERANCE_S: u32 = MAX_STEP.as_secs() as u32 + BLOCK_S;

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut dp = pac::Peripherals::take().unwrap();
    let mut core = cortex_m::Peripherals::take().unwrap();
    let mut rcc = dp.RCC.constrain();

    // It shows the year 2000 when its battery was changed: then the horizon is where to begin.
    let mut rtc = Rtc::new(dp.RTC, &mut rcc, &mut dp.PWR);
    let gpioa = dp.GPIOA.split(&mut rcc);
    let mut tx = dp.USART1.tx(gpioa.pa9, 115_200.bps(), &mut rcc).unwrap();
    let (grant, key) = match factory() {
        Ok(factory) => factory,
        Err(error) => {
            // Not provisioned. It says so at each wake.
            _ = writeln!(tx, "{error}\r");
            sleep(rtc, &mut dp.EXTI, &mut core.SCB, &dp.PWR)
        }
    };

    let mut flash = LockedFlash::new(dp.FLASH);
    let flash = FlashPart::new(flash.unlocked(), HORIZON).unwrap();
    let horizon = FlashHorizon::<_>::open(flash).unwrap();
    let mut registers = Registers {
        is_wake: dp.PWR.csr().read().sbf().bit_is_set(),
    };
    dp.PWR.cr().modify(|_, w| w.csbf().set_bit());
    let mut blocks = Blocks::new(grant, horizon).with_block_s(BLOCK_S);
    let rest = blocks.resume(&mut registers);
    // The rest of a block lies below the horizon.
    let floor = match rest {
        Some(rest) => Duration::from_millis(Layout::SPEC.unix_ms(rest.start())),
        None => Duration::from_secs(blocks.store().unix_s().into()),
    };
    let bounds = TimeBounds::from_horizon(floor)
        .within(&grant)
        .with_max_step(MAX_STEP);

    // 32 bits of microseconds wrap after 71 minutes: long after it sleeps.
    let mut timer = dp.TIM2.counter_us(&mut rcc);
    timer.start(u32::MAX.micros()).unwrap();
    let time = &TIME;

    let told = rtc.get_datetime().assume_utc().unix_timestamp();
    let told = Duration::from_secs(told.try_into().unwrap_or(0));
    time.set_within(told, &bounds).unwrap();

    let asleep = time
        .now()
        .and_then(|now| Layout::SPEC.tick_at(now + 2 * AWAKE));
    let lease = match rest {
        // The block goes on, if it lasts for this wake.
        Some(rest) if asleep.is_some_and(|asleep| asleep < rest.end()) => Ok(rest),
        _ => blocks.begin(time.now()),
    };
    let lease = match lease {
        Ok(lease) => lease,
        Err(error) => {
            // Lost, used up, or the flash fails. At each wake it says so; there are no ids.
            _ = writeln!(tx, "{error}\r");
            sleep(rtc, &mut dp.EXTI, &mut core.SCB, &dp.PWR)
        }
    };
    let ids = Ids::new(lease, time, key).unwrap();
    let ids: &Ids = IDS.init(ids.with_tolerance(TOLERANCE_S));

    let mut pin = gpioa.pa0.into_pull_up_input();
    pin.make_interrupt_source(&mut dp.SYSCFG.constrain(&mut rcc));
    pin.trigger_on_edge(&mut dp.EXTI, Edge::Falling);
    pin.enable_interrupt(&mut dp.EXTI);
    let (queue, mut pulses) = QUEUE.init(Queue::new()).split();
    let source = Pulses { pin, ids, queue };
    critical_section::with(|cs| SOURCE.replace(cs, Some(source)));
    // SAFETY: nothing relies on the interrupt being masked.
    unsafe { cortex_m::peripheral::NVIC::unmask(pac::Interrupt::EXTI0) };

    // An id of main's own, beside those of the interrupt: it names this wake.
    let mut send = |id: Id| _ = writeln!(tx, "{}\r", id.to_text());
    if let Ok(wake) = ids.generate() {
        send(wake);
    }
    while time.monotonic().uptime() < AWAKE {
        while let Some(pulse) = pulses.dequeue() {
            send(pulse);
        }
    }
    ids.retain(&mut registers);
    sleep(rtc, &mut dp.EXTI, &mut core.SCB, &dp.PWR)
}

fn microseconds() -> u32 {
    // SAFETY: reads a register, whose reading changes nothing.
    unsafe { (*pac::TIM2::ptr()).cnt().read().bits() }
}

/// The first five registers that keep their words in standby. Since `Rtc::new` they may be written.
struct Registers {
    /// From the flag that standby sets, and nothing else.
    is_wake: bool,
}

impl Registers {
    fn backup(&self) -> impl Iterator<Item = &'static BKPR> {
        // SAFETY: no other code uses these registers of the real-time clock.
        unsafe { (*pac::RTC::ptr()).bkpr_iter() }.take(5)
    }
}

impl RetainedMemory for Registers {
    fn read(&self) -> Option<[u32; 5]> {
        let mut words = [0; 5];
        for (word, register) in words.iter_mut().zip(self.backup()) {
            *word = register.read().bits();
        }
        self.is_wake.then_some(words)
    }

    fn write(&mut self, words: [u32; 5]) {
        for (word, register) in words.iter().zip(self.backup()) {
            register.write(|w| w.bkp().set(*word));
        }
    }
}

/// All but the real-time clock is switched off, which wakes the chip by a reset after nine minutes.
fn sleep(mut rtc: Rtc, exti: &mut pac::EXTI, scb: &mut SCB, pwr: &pac::PWR) -> ! {
    rtc.enable_wakeup(540.secs().into());
    rtc.clear_interrupt(Event::Wakeup);
    rtc.listen(exti, Event::Wakeup);
    pwr.cr().modify(|_, w| w.pdds().set_bit().cwuf().set_bit());
    scb.set_sleepdeep();
    loop {
        cortex_m::asm::wfi();
    }
}

/// The grant and the key that were programmed into the first block of the memory that is programmed once
/// (RM0383, one-time programmable bytes):
///
/// ```text
/// 0  node id | 4  first tick | 8  first tick after the grant | 12  version, 1 | 16..32  key    little-endian
/// ```
///
/// In a device that was not provisioned they are all ones.
fn factory() -> Result<(Lease<Layout>, Sparx64OnTheFly), LeaseError> {
    const ONCE: *const [[u8; 4]; 8] = core::ptr::with_exposed_provenance(0x1fff_7800);
    // SAFETY: memory of the chip that holds plain bytes, and does not change.
    let words = unsafe { ONCE.read() };
    let [node_id, start, end, version, key @ ..] = words;
    let grant = [node_id, start, end, version].map(u32::from_le_bytes);
    let grant = Lease::from_words(Layout, grant)?;
    let key = key.as_flattened().first_chunk().unwrap();
    Ok((grant, Sparx64OnTheFly::new(key)))
}

/// What the interrupt owns.
struct Pulses {
    pin: PA0<Input>,
    ids: &'static Ids,
    queue: Producer<'static, Id>,
}

/// From main to the interrupt, once.
static SOURCE: Mutex<RefCell<Option<Pulses>>> = Mutex::new(RefCell::new(None));

#[interrupt]
fn EXTI0() {
    static mut MINE: Option<Pulses> = None;

    if MINE.is_none() {
        *MINE = critical_section::with(|cs| SOURCE.take(cs));
    }
    if let Some(pulses) = MINE {
        pulses.pin.clear_interrupt_pending_bit();
        // A full queue or an exhausted second loses the pulse's id, never repeats one.
        if let Ok(id) = pulses.ids.generate() {
            _ = pulses.queue.enqueue(id);
        }
    }
}
