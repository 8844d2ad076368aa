//! An RP2040 with embassy, which issues ids on both cores at once: each has a lane of the same lease. It asks for
//! a ticket over UART, and sends its ids there.
//!
//! | | |
//! |---|---|
//! | word | none: a lane belongs to its core, 65,536 ids a second each; only the clock is shared, which both cores lock |
//! | node id | by ticket, for the device whose number the flash chip has |
//! | clock | begins where the ticket's lease does, or at the horizon |
//! | horizon | in three pages of flash, and the counter of the last ticket in three more; core 1 waits while they change |
//!
//! A device whose horizon is lost stops and says so: it is provisioned anew, and gets a new lease.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::fmt::Write;
use core::time::Duration;

use embassy_embedded_hal::flash::partition::BlockingPartition;
use embassy_executor::Executor;
use embassy_futures::select::{Either, Either3, select, select3};
use embassy_rp::flash::{Blocking, ERASE_SIZE, Flash};
use embassy_rp::multicore::{Stack, spawn_core1};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, FLASH, UART0};
use embassy_rp::uart::{self, Async, Uart, UartRx, UartTx};
use embassy_rp::{bind_interrupts, dma};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::{CriticalSectionRawMutex, NoopRawMutex};
use embassy_sync::channel::Channel;
use embassy_sync::signal::Signal;
use embassy_time::{Instant, Ticker, Timer};
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, GenerateError, HorizonError, HorizonStore, Id, Lane, Layout as _, Lease,
    Randflake as Layout, Sparx64OnTheFly, Ticket, TicketCounter, TicketReader, TimeBounds,
    UnixClock,
};
use randflake_embedded::{CriticalSectionWord, EmbassyUptime, FlashHorizon, id_string};
use static_cell::{ConstStaticCell, StaticCell};

bind_interrupts!(struct Irqs {
    UART0_IRQ => uart::InterruptHandler<UART0>;
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

/// The last seven pages of the flash, which `memory.x` leaves out.
const FLASH_SIZE: usize = 2 * 1024 * 1024;
const PAGE: u32 = ERASE_SIZE as u32;
const HORIZON: u32 = FLASH_SIZE as u32 - 3 * PAGE;
const COUNTER: u32 = HORIZON - 3 * PAGE;
/// Written where the device was made: the key of the ids, then that of the tickets.
const KEYS: u32 = COUNTER - PAGE;

type Time = UnixClock<EmbassyUptime, CriticalSectionWord>;
type MyLane = Lane<Layout, &'static Time, &'static Sparx64OnTheFly>;
type MyFlash = Flash<'static, FLASH, Blocking, FLASH_SIZE>;
/// Both tasks that use the flash run on core 0.
type Part = BlockingPartition<'static, NoopRawMutex, MyFlash>;

static TIME: Time = UnixClock::new(EmbassyUptime);
static KEY: StaticCell<Sparx64OnTheFly> = StaticCell::new();
static SHARED_FLASH: StaticCell<Mutex<NoopRawMutex, RefCell<MyFlash>>> = StaticCell::new();
static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
static STACK: ConstStaticCell<Stack<4096>> = ConstStaticCell::new(Stack::new());

static GRANT: Signal<CriticalSectionRawMutex, Lease<Layout>> = Signal::new();
static LANE: Signal<CriticalSectionRawMutex, MyLane> = Signal::new();
static SAMPLES: Channel<CriticalSectionRawMutex, Id, 16> = Channel::new();

#[cortex_m_rt::entry]
fn main() -> ! {
    let p = embassy_rp::init(Default::default());
    let mut flash = MyFlash::new_blocking(p.FLASH);
    let mut device = [0; 8];
    flash.blocking_unique_id(&mut device).unwrap();
    let device = u64::from_be_bytes(device);
    let mut keys = [[0; 16]; 2];
    flash.blocking_read(KEYS, keys.as_flattened_mut()).unwrap();
    // Where nothing was written, anybody could make tickets.
    assert!(keys.iter().all(|key| *key != [0xff; 16]));
    let [key, ticket_key] = keys;

    let flash = SHARED_FLASH.init(Mutex::new(RefCell::new(flash)));
    let part = |from| Part::new(flash, from, 3 * PAGE);
    let horizon = FlashHorizon::<_>::open(part(HORIZON)).unwrap();
    let counter = TicketCounter::new(FlashHorizon::<_>::open(part(COUNTER)).unwrap());

    let time = &TIME;
    let tickets = Tickets {
        device,
        key: ticket_key,
        counter,
        floor: Duration::from_secs(horizon.unix_s().into()),
        time,
    };
    let key: &'static Sparx64OnTheFly = KEY.init(Sparx64OnTheFly::new(&key));
    let uart = Uart::new(
        p.UART0,
        p.PIN_0,
        p.PIN_1,
        Irqs,
        p.DMA_CH0,
        p.DMA_CH1,
        Default::default(),
    );
    let (tx, rx) = uart.split();

    let [core_0, core_1] = &EXECUTORS;
    spawn_core1(p.CORE1, STACK.take(), move || {
        let executor = core_1.init(Executor::new());
        executor.run(|spawner| spawner.spawn(sample().unwrap()))
    });
    let executor = core_0.init(Executor::new());
    executor.run(|spawner| {
        spawner.spawn(listen(rx, tickets).unwrap());
        spawner.spawn(issue(tx, device, horizon, time, key).unwrap());
    })
}

struct Tickets {
    device: u64,
    key: [u8; 16],
    counter: TicketCounter<FlashHorizon<Part>>,
    /// Where the horizon was at the boot.
    floor: Duration,
    time: &'static Time,
}

/// Core 0: tickets that are sent, each followed by a break, become grants.
#[embassy_executor::task]
async fn listen(mut rx: UartRx<'static, Async>, mut tickets: Tickets) {
    let mut reader = TicketReader::new(tickets.device, tickets.counter.last());
    // A byte more, so that what is too long is seen.
    let mut bytes = [0; Ticket::LEN + 1];
    loop {
        let Ok(len) = rx.read_to_break(&mut bytes).await else {
            continue;
        };
        let now = tickets.time.now();
        let Ok(grant) = reader.accept::<Layout>(&bytes[..len], &tickets.key, now) else {
            continue;
        };
        // Before it is used: after a reset, it is not accepted again.
        if tickets.counter.raise(reader.last_counter()).is_err() {
            continue;
        }
        if now.is_none() {
            let bounds = TimeBounds::from_horizon(tickets.floor).within(&grant);
            _ = tickets.time.set(bounds.start());
        }
        GRANT.signal(grant);
    }
}

/// Core 0: begins a block of the grant whenever one is over, hands core 1 its lane, and sends the ids of both: its
/// own each second, and those of core 1 as they come.
#[embassy_executor::task]
async fn issue(
    mut tx: UartTx<'static, Async>,
    device: u64,
    mut horizon: FlashHorizon<Part>,
    time: &'static Time,
    key: &'static Sparx64OnTheFly,
) {
    let mut grant = ask(&mut tx, device).await;
    let mut second = Ticker::every(embassy_time::Duration::from_secs(1));
    loop {
        if let Some(renewed) = GRANT.try_take() {
            grant = renewed;
        }
        let lease = match Blocks::new(grant, &mut horizon).begin(time.now()) {
            Ok(lease) => lease,
            Err(HorizonError::Store(_)) => {
                Timer::after_millis(100).await;
                continue;
            }
            // A ticket does not help: the device is provisioned anew, and gets a new lease, never a renewed one.
            Err(HorizonError::Lost) => repeat(&mut tx, "horizon lost", device).await,
            Err(_) => {
                grant = ask(&mut tx, device).await;
                continue;
            }
        };
        // 60 s: two lanes count 65,535.
        let [mut mine, theirs] = Lane::split(lease, time, key).unwrap();
        LANE.signal(theirs);
        let over = end(&lease, time);
        loop {
            let id = match select3(SAMPLES.receive(), second.next(), Timer::at(over)).await {
                Either3::First(sample) => sample,
                Either3::Second(()) => match mine.generate() {
                    Ok(id) => id,
                    Err(_) => continue,
                },
                Either3::Third(()) => break,
            };
            for part in [id_string(id).as_bytes(), b"\r\n"] {
                _ = tx.write(part).await;
            }
        }
    }
}

fn end(lease: &Lease<Layout>, time: &Time) -> Instant {
    let end = Duration::from_millis(Layout::SPEC.unix_ms(lease.end()));
    let left = end.saturating_sub(time.now().unwrap_or(end));
    Instant::now() + embassy_time::Duration::from_micros(left.as_micros() as u64)
}

/// For good: says so every five seconds.
async fn repeat(tx: &mut UartTx<'static, Async>, what: &str, device: u64) -> ! {
    let mut line = heapless::String::<48>::new();
    _ = write!(line, "{what} {device:016x}\r\n");
    loop {
        _ = tx.write(line.as_bytes()).await;
        Timer::after_secs(5).await;
    }
}

/// The server reads this line, and answers with the 32 bytes of `randflake lease ticket --device`.
async fn ask(tx: &mut UartTx<'static, Async>, device: u64) -> Lease<Layout> {
    let mut line = heapless::String::<26>::new();
    _ = write!(line, "ticket {device:016x}\r\n");
    loop {
        _ = tx.write(line.as_bytes()).await;
        match select(GRANT.wait(), Timer::after_secs(5)).await {
            Either::First(grant) => return grant,
            Either::Second(()) => {}
        }
    }
}

/// Core 1: takes a sample a hundred times a second, each with an id of this core's lane.
#[embassy_executor::task]
async fn sample() {
    let mut lane = LANE.wait().await;
    loop {
        match lane.generate() {
            Ok(id) => SAMPLES.send(id).await,
            Err(GenerateError::LeaseOver { .. }) => lane = LANE.wait().await,
            // The clock was set back: time passes.
            Err(_) => {}
        }
        Timer::after_millis(10).await;
    }
}
