//! An STM32F411 with RTIC that sleeps in standby, which loses RAM and ends in a reset: every ten
//! minutes it counts the pulses on a pin for a minute, a task gives each an id, and idle time sends
//! them over UART.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: the generator is a shared resource, which RTIC locks for one id, masking only this task |
//! | node id | from the factory, with the key in the chip's memory that is programmed once |
//! | clock | the chip's real-time clock, which runs through standby, sets it at each boot |
//! | horizon | the last three sectors of flash; a block of six hours, whose rest is kept in registers of the real-time clock while the chip sleeps; if the flash refuses, the next wake tries again |
//! | power | standby for nine of ten minutes |
#![no_std]
#![no_main]

use panic_halt as _;

#[rtic::app(device = stm32f4xx_hal::pac, peripherals = true)]
mod app {
    use core::fmt::Write;
    use core::ops::Range;
    use core::sync::atomic::AtomicU32;
    use core::time::Duration;

    use heapless::spsc::{Consumer, Producer, Queue};
    use randflake_embedded::randflake_core::{
        Blocks, Clock, Generator, HorizonStore, Id, Layout as _, Lease, LeaseError, LocalWord,
        Monotonic, Randflake as Layout, RetainedMemory, Sparx64OnTheFly, TimeBounds, UnixClock,
        Uptime,
    };
    use randflake_embedded::{FlashHorizon, FlashPart};
    use stm32f4xx_hal::flash::{FlashExt, LockedFlash};
    use stm32f4xx_hal::gpio::{Edge, Input, PA0};
    use stm32f4xx_hal::pac::rtc::BKPR;
    use stm32f4xx_hal::pac::{self, TIM2, USART1};
    use stm32f4xx_hal::prelude::*;
    use stm32f4xx_hal::rtc::{Event, Rtc};
    use stm32f4xx_hal::serial::Tx;
    use stm32f4xx_hal::timer::CounterUs;

    type Time = UnixClock<Uptime<1_000_000, fn() -> u32, AtomicU32>, AtomicU32>;
    type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly, u32>;

    static TIME: Time = UnixClock::new(Uptime::since_zero(microseconds));

    /// Sectors 5 to 7, of 128 KiB each, counted from the flash's beginning; `memory.x` leaves them
    /// out. An erase stops the program for a second or two, with each block: four times a day.
    const HORIZON: Range<u32> = 128 * 1024..512 * 1024;

    const AWAKE: Duration = Duration::from_secs(60);
    /// A block is begun four times a day, and after a power cut, which puts ids up to six hours
    /// ahead.
    const BLOCK_S: u32 = 6 * 3_600;

    /// How far past the rest of a block, or the horizon, the real-time clock is believed at a wake:
    /// a wrong one wastes no more of the grant. Off for longer, the device catches up by as much at
    /// each wake.
    const MAX_STEP: Duration = Duration::from_secs(86_400);
    /// When a wrong time is corrected, ids go on where they were.
    const TOLERANCE_S: u32 = MAX_STEP.as_secs() as u32 + BLOCK_S;

    #[shared]
    struct Shared {
        ids: Ids,
    }

    #[local]
    struct Local {
        pin: PA0<Input>,
        queue: Producer<'static, Id>,
        pulses: Consumer<'static, Id>,
        registers: Registers,
        standby: Standby,
        tx: Tx<USART1>,
        _timer: CounterUs<TIM2>,
    }

    #[init(local = [between: Queue<Id, 64> = Queue::new()])]
    fn init(cx: init::Context) -> (Shared, Local) {
        let mut dp = cx.device;
        let mut rcc = dp.RCC.constrain();

        // It shows the year 2000 when its battery was changed: then the horizon is where to begin.
        let rtc = Rtc::new(dp.RTC, &mut rcc, &mut dp.PWR);
        let gpioa = dp.GPIOA.split(&mut rcc);
        let mut tx = dp.USART1.tx(gpioa.pa9, 115_200.bps(), &mut rcc).unwrap();
        let mut registers = Registers {
            is_wake: dp.PWR.csr().read().sbf().bit_is_set(),
        };
        dp.PWR.cr().modify(|_, w| w.csbf().set_bit());
        let mut pin = gpioa.pa0.into_pull_up_input();
        pin.make_interrupt_source(&mut dp.SYSCFG.constrain(&mut rcc));
        pin.trigger_on_edge(&mut dp.EXTI, Edge::Falling);
        pin.enable_interrupt(&mut dp.EXTI);
        let mut standby = Standby {
            rtc,
            exti: dp.EXTI,
            scb: cx.core.SCB,
            pwr: dp.PWR,
        };

        let (grant, key) = match factory() {
            Ok(factory) => factory,
            // Not provisioned, or the grant is damaged.
            Err(error) => standby.sleep_because(&mut tx, &error),
        };
        let mut flash = LockedFlash::new(dp.FLASH);
        let flash = FlashPart::new(flash.unlocked(), HORIZON).unwrap();
        let horizon = match FlashHorizon::<_>::open(flash) {
            Ok(horizon) => horizon,
            // Another format: install the former program. Or the flash cannot be read.
            Err(error) => standby.sleep_because(&mut tx, &error),
        };
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
        let told = standby.rtc.get_datetime().assume_utc().unix_timestamp();
        let told = Duration::from_secs(told.try_into().unwrap_or(0));
        TIME.set_within(told, &bounds).unwrap();

        let asleep = TIME
            .now()
            .and_then(|now| Layout::SPEC.tick_at(now + 2 * AWAKE));
        let lease = match rest {
            // The block goes on, if it lasts for this wake.
            Some(rest) if asleep.is_some_and(|asleep| asleep < rest.end()) => Ok(rest),
            _ => blocks.begin(TIME.now()),
        };
        let lease = match lease {
            Ok(lease) => lease,
            // Lost or used up, for good: each wake says so. Or the flash refused: the next wake, in
            // nine minutes, tries again, and does not wear it out by trying at once.
            Err(error) => standby.sleep_because(&mut tx, &error),
        };
        let ids = Ids::new(lease, &TIME, key).unwrap();
        let ids = ids.with_tolerance(TOLERANCE_S);

        let (queue, pulses) = cx.local.between.split();
        let local = Local {
            pin,
            queue,
            pulses,
            registers,
            standby,
            tx,
            _timer: timer,
        };
        (Shared { ids }, local)
    }

    #[task(binds = EXTI0, shared = [ids], local = [pin, queue])]
    fn pulse(mut cx: pulse::Context) {
        cx.local.pin.clear_interrupt_pending_bit();
        // A full queue or an exhausted second loses the pulse's id, never repeats one.
        if let Ok(id) = cx.shared.ids.lock(|ids| ids.generate()) {
            _ = cx.local.queue.enqueue(id);
        }
    }

    #[idle(shared = [ids], local = [pulses, registers, standby, tx])]
    fn idle(mut cx: idle::Context) -> ! {
        // An id of idle time's own, beside those of the task: it names this wake.
        if let Ok(wake) = cx.shared.ids.lock(|ids| ids.generate()) {
            send(cx.local.tx, wake);
        }
        while TIME.monotonic().uptime() < AWAKE {
            while let Some(pulse) = cx.local.pulses.dequeue() {
                send(cx.local.tx, pulse);
            }
        }
        // The task gets no more ids from here on.
        cx.shared.ids.lock(|ids| ids.retain(cx.local.registers));
        cx.local.standby.sleep()
    }

    fn send(tx: &mut Tx<USART1>, id: Id) {
        _ = writeln!(tx, "{}\r", id.to_text());
    }

    /// What the chip sleeps by.
    struct Standby {
        rtc: Rtc,
        exti: pac::EXTI,
        scb: cortex_m::peripheral::SCB,
        pwr: pac::PWR,
    }

    impl Standby {
        /// Says why there are no ids, and sleeps on: at each wake.
        fn sleep_because(mut self, tx: &mut Tx<USART1>, why: &dyn core::fmt::Display) -> ! {
            _ = writeln!(tx, "{why}\r");
            self.sleep()
        }

        /// All but the real-time clock is switched off, which wakes the chip by a reset after nine
        /// minutes.
        fn sleep(&mut self) -> ! {
            self.rtc.enable_wakeup(540.secs().into());
            self.rtc.clear_interrupt(Event::Wakeup);
            self.rtc.listen(&mut self.exti, Event::Wakeup);
            self.pwr
                .cr()
                .modify(|_, w| w.pdds().set_bit().cwuf().set_bit());
            self.scb.set_sleepdeep();
            loop {
                cortex_m::asm::wfi();
            }
        }
    }

    /// The first five registers that keep their words in standby. Since `Rtc::new` they may be
    /// written.
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

    /// The grant and the key that were programmed into the first block of the memory that is
    /// programmed once (RM0383, one-time programmable bytes):
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
        let words = [node_id, start, end, version].map(u32::from_le_bytes);
        let grant = Lease::from_words(Layout, words)?;
        let key = key.as_flattened().first_chunk().unwrap();
        Ok((grant, Sparx64OnTheFly::new(key)))
    }

    fn microseconds() -> u32 {
        // SAFETY: reads a register, whose reading changes nothing.
        unsafe { (*pac::TIM2::ptr()).cnt().read().bits() }
    }
}
