//! An STM32F411 with RTIC: a task gives each pulse on a pin an id, and idle time sends them over UART.
//!
//! | | |
//! |---|---|
//! | word | `LocalWord<u32>`: the generator is a shared resource, which RTIC locks for one id, masking only this task |
//! | node id | from the factory, with the key in the chip's memory that is programmed once |
//! | clock | starts at the horizon, and counts the microseconds of a timer |
//! | horizon | the last three sectors of flash; a block of ten minutes when an id is needed |
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
        Blocks, Clock, Generator, HorizonStore, Id, Lease, LocalWord, Randflake as Layout,
        Sparx64OnTheFly, TimeBounds, UnixClock, Uptime,
    };
    use randflake_embedded::{FlashHorizon, FlashPart};
    use stm32f4xx_hal::flash::{FlashExt, LockedFlash, UnlockedFlash};
    use stm32f4xx_hal::gpio::{Edge, Input, PA0};
    use stm32f4xx_hal::pac::{self, TIM2, USART1};
    use stm32f4xx_hal::prelude::*;
    use stm32f4xx_hal::serial::Tx;
    use stm32f4xx_hal::timer::CounterUs;

    type Time = UnixClock<Uptime<1_000_000, fn() -> u32, AtomicU32>, AtomicU32>;
    type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly, u32>;
    type Horizon = FlashHorizon<FlashPart<UnlockedFlash<'static>>>;

    static TIME: Time = UnixClock::new(Uptime::since_zero(microseconds));

    /// Sectors 5 to 7, of 128 KiB each, counted from the flash's beginning; `memory.x` leaves them out.
    const HORIZON: Range<u32> = 128 * 1024..512 * 1024;
    /// An erase stops the program for a second or two, with the first block after each boot.
    const BLOCK_S: u32 = 600;
    const TOLERANCE_S: u32 = TimeBounds::DEFAULT_MAX_STEP.as_secs() as u32 + BLOCK_S;

    #[shared]
    struct Shared {
        /// `None` before the first block.
        ids: Option<Ids>,
    }

    #[local]
    struct Local {
        pin: PA0<Input>,
        queue: Producer<'static, Option<Id>>,
        pulses: Consumer<'static, Option<Id>>,
        blocks: Blocks<Layout, Horizon>,
        key: Sparx64OnTheFly,
        tx: Tx<USART1>,
        _timer: CounterUs<TIM2>,
    }

    #[init(local = [flash: Option<LockedFlash> = None, between: Queue<Option<Id>, 64> = Queue::new()])]
    fn init(cx: init::Context) -> (Shared, Local) {
        let mut dp = cx.device;
        let mut rcc = dp.RCC.constrain();
        let (grant, key) = factory();

        let flash = cx.local.flash.insert(LockedFlash::new(dp.FLASH));
        let flash = FlashPart::new(flash.unlocked(), HORIZON).unwrap();
        let horizon = Horizon::open(flash).unwrap();

        // 32 bits of microseconds wrap after 71 minutes; idle time asks more often.
        let mut timer = dp.TIM2.counter_us(&mut rcc);
        timer.start(u32::MAX.micros()).unwrap();
        let floor = Duration::from_secs(horizon.unix_s().into());
        let bounds = TimeBounds::from_horizon(floor).within(&grant);
        TIME.set(bounds.start()).unwrap();

        let gpioa = dp.GPIOA.split(&mut rcc);
        let tx = dp.USART1.tx(gpioa.pa9, 115_200.bps(), &mut rcc).unwrap();
        let mut pin = gpioa.pa0.into_pull_up_input();
        pin.make_interrupt_source(&mut dp.SYSCFG.constrain(&mut rcc));
        pin.trigger_on_edge(&mut dp.EXTI, Edge::Falling);
        pin.enable_interrupt(&mut dp.EXTI);
        let (queue, pulses) = cx.local.between.split();
        let local = Local {
            pin,
            queue,
            pulses,
            blocks: Blocks::new(grant, horizon).with_block_s(BLOCK_S),
            key,
            tx,
            _timer: timer,
        };
        (Shared { ids: None }, local)
    }

    /// A pulse. Without an id it is one that idle time gives it: its block was over.
    #[task(binds = EXTI0, shared = [ids], local = [pin, queue])]
    fn pulse(mut cx: pulse::Context) {
        cx.local.pin.clear_interrupt_pending_bit();
        let id = cx.shared.ids.lock(|ids| ids.as_ref()?.generate().ok());
        // A full queue loses the pulse, never repeats its id.
        _ = cx.local.queue.enqueue(id);
    }

    #[idle(shared = [ids], local = [pulses, blocks, key, tx])]
    fn idle(mut cx: idle::Context) -> ! {
        loop {
            // Asked for more often than the counter wraps.
            let now = TIME.now();
            let Some(pulse) = cx.local.pulses.dequeue() else {
                continue;
            };
            let known = pulse.or_else(|| cx.shared.ids.lock(|ids| ids.as_ref()?.generate().ok()));
            // With the tolerance, nothing but the end of a block stops a generator.
            let Some(id) = known else {
                match cx.local.blocks.begin(now) {
                    Ok(lease) => {
                        let ids = Ids::new(lease, &TIME, cx.local.key.clone()).unwrap();
                        let ids = ids.with_tolerance(TOLERANCE_S);
                        // The pulse that needed the block gets its first id.
                        send(cx.local.tx, ids.generate().ok());
                        cx.shared.ids.lock(|shared| *shared = Some(ids));
                    }
                    // Lost or used up, for good: each pulse says so. Or the flash refused, and the next tries again.
                    Err(error) => _ = writeln!(cx.local.tx, "{error}\r"),
                }
                continue;
            };
            send(cx.local.tx, Some(id));
        }
    }

    fn send(tx: &mut Tx<USART1>, id: Option<Id>) {
        if let Some(id) = id {
            _ = writeln!(tx, "{}\r", id.to_text());
        }
    }

    /// As in the example `stm32f411`: node id, first tick, first tick after the grant, version, and from byte 16 the key. A device
    /// that was not provisioned halts.
    fn factory() -> (Lease<Layout>, Sparx64OnTheFly) {
        const ONCE: *const [[u8; 4]; 8] = core::ptr::with_exposed_provenance(0x1fff_7800);
        // SAFETY: memory of the chip that holds plain bytes, and does not change.
        let words = unsafe { ONCE.read() };
        let [node_id, start, end, version, key @ ..] = words;
        let words = [node_id, start, end, version].map(u32::from_le_bytes);
        let grant = Lease::from_words(Layout, words).unwrap();
        let key = key.as_flattened().first_chunk().unwrap();
        (grant, Sparx64OnTheFly::new(key))
    }

    fn microseconds() -> u32 {
        // SAFETY: reads a register, whose reading changes nothing.
        unsafe { (*pac::TIM2::ptr()).cnt().read().bits() }
    }
}
