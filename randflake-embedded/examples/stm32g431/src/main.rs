//! An STM32G431, whose flash has ECC: a word that a power cut left torn raises the non-maskable
//! interrupt when it is read. `flash.rs` has the driver that returns it as an error. The program
//! sends an id each second over UART.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: main alone generates |
//! | node id | from the factory, with the key in the chip's memory that is programmed once |
//! | clock | starts at the horizon, and counts a timer's microseconds |
//! | horizon | the last three pages of flash; a block a minute; tried again at a pace if the flash refuses |
//! | power | the processor sleeps between seconds, woken by the timer |
#![no_std]
#![no_main]

mod flash;

use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use cortex_m::peripheral::{NVIC, SCB};
use flash::PageFlash;
use pace::Pace;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, FlashHorizonError, Generator, HorizonError, HorizonStore, Id, Lease, LeaseError,
    LocalWord, Monotonic, Randflake as Layout, Sparx64OnTheFly, TimeBounds, UnixClock, Uptime,
};
use randflake_embedded::{FlashHorizon, FlashPart};
use stm32g4::stm32g431::{Interrupt, Peripherals, TIM2, USART2};

type Time = UnixClock<Uptime<1_000_000, fn() -> u32, AtomicU32>, AtomicU32>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly>;

static TIME: Time = UnixClock::new(Uptime::since_zero(microseconds));

/// What the reset leaves running.
const HZ: u32 = 16_000_000;

/// The last three pages; `memory.x` leaves them out.
const HORIZON: Range<u32> = 122 * 1024..128 * 1024;

#[cortex_m_rt::entry]
fn main() -> ! {
    let p = Peripherals::take().unwrap();
    p.RCC.ahb2enr().modify(|_, w| w.gpioaen().set_bit());
    let clocks = p.RCC.apb1enr1();
    clocks.modify(|_, w| w.tim2en().set_bit().usart2en().set_bit());

    // SAFETY: any number is a prescaler.
    p.TIM2
        .psc()
        .write(|w| unsafe { w.bits(HZ / 1_000_000 - 1) });
    p.TIM2.egr().write(|w| w.ug().set_bit()); // Loads the prescaler.
    p.TIM2.cr1().modify(|_, w| w.cen().set_bit());
    // An interrupt that becomes pending ends a sleep, although the processor takes none.
    // SAFETY: main alone uses the register.
    unsafe { (*SCB::PTR).scr.modify(|scr| scr | 1 << 4) };

    p.GPIOA.moder().modify(|_, w| w.moder2().alternate());
    p.GPIOA.afrl().modify(|_, w| w.afrl2().af7());
    let tx = p.USART2;
    // SAFETY: a divisor of 16 or more.
    tx.brr().write(|w| unsafe { w.bits(HZ / 115_200) });
    tx.cr1().write(|w| w.ue().set_bit().te().set_bit());

    let (grant, key) = match factory() {
        Ok(factory) => factory,
        Err(LeaseError::NotProvisioned) => stop(&tx, "this device is not provisioned"),
        Err(_) => stop(&tx, "the grant is damaged, or of another version"),
    };
    let flash = FlashPart::new(PageFlash::new(p.FLASH), HORIZON).unwrap();
    let horizon = match FlashHorizon::<_>::open(flash) {
        Ok(horizon) => horizon,
        Err(FlashHorizonError::Version(_)) => stop(
            &tx,
            "the horizon has another format: install the former program",
        ),
        Err(_) => stop(&tx, "the flash cannot be read"),
    };

    let floor = Duration::from_secs(horizon.unix_s().into());
    let bounds = TimeBounds::from_horizon(floor).within(&grant);
    TIME.set(bounds.start()).unwrap();

    let mut blocks = Blocks::new(grant, horizon);
    let mut ids: Option<Ids> = None;
    let mut pace = Pace::new();
    for second in 1_u32.. {
        sleep_until(second);
        if let Some(Ok(id)) = ids.as_ref().map(Generator::generate) {
            send(&tx, id);
            continue;
        }
        let uptime = TIME.monotonic().uptime();
        if !pace.is_due(uptime) {
            continue;
        }
        match blocks.begin(TIME.now()) {
            Ok(lease) => {
                pace.succeeded();
                let next = ids.insert(Ids::new(lease, &TIME, key.clone()).unwrap());
                if let Ok(id) = next.generate() {
                    send(&tx, id);
                }
            }
            // The flash refused. A second after the pause tries again; too many tries would wear it
            // out.
            Err(HorizonError::Store(_)) => {
                pace.failed(uptime);
                if pace.is_over() {
                    stop(&tx, "the flash refuses: replace the device");
                }
            }
            Err(HorizonError::Lost) => stop(&tx, "the horizon is lost: replace the grant"),
            Err(_) => stop(&tx, "the grant is used up: replace it"),
        }
    }
    unreachable!("the seconds of 136 years are over")
}

/// Sleeps until so many seconds since boot: the timer's first channel wakes the processor.
fn sleep_until(second: u32) {
    let at = second.wrapping_mul(1_000_000);
    // SAFETY: main alone changes the registers.
    let timer = unsafe { &*TIM2::ptr() };
    // SAFETY: any number is a time.
    timer.ccr1().write(|w| unsafe { w.bits(at) });
    timer.dier().write(|w| w.cc1ie().set_bit());
    while TIME.monotonic().uptime() < Duration::from_secs(second.into()) {
        cortex_m::asm::wfe();
        timer.sr().write(|w| w.cc1if().clear_bit());
        NVIC::unpend(Interrupt::TIM2);
    }
}

fn microseconds() -> u32 {
    // SAFETY: reads a register, whose reading changes nothing.
    unsafe { (*TIM2::ptr()).cnt().read().bits() }
}

/// The grant and the key that were programmed into the memory that is programmed once (RM0440, OTP
/// area), as `randflake lease provision` writes them.
fn factory() -> Result<(Lease<Layout>, Sparx64OnTheFly), LeaseError> {
    const ONCE: *const [[u8; 4]; 8] = core::ptr::with_exposed_provenance(0x1fff_7000);
    // SAFETY: memory of the chip that holds plain bytes, and does not change.
    let words = unsafe { ONCE.read() };
    let [node_id, start, end, version, key @ ..] = words;
    let grant = [node_id, start, end, version].map(u32::from_le_bytes);
    let grant = Lease::from_words(Layout, grant)?;
    let key = key.as_flattened().first_chunk().unwrap();
    Ok((grant, Sparx64OnTheFly::new(key)))
}

fn send(tx: &USART2, id: Id) {
    say(tx, id.to_text().as_str());
}

fn say(tx: &USART2, line: &str) {
    for byte in line.bytes().chain(*b"\r\n") {
        while tx.isr().read().txe().bit_is_clear() {}
        tx.tdr().write(|w| w.tdr().set(byte.into()));
    }
}

/// Says why there are no ids, every second.
fn stop(tx: &USART2, why: &str) -> ! {
    loop {
        say(tx, why);
        cortex_m::asm::delay(HZ);
    }
}
