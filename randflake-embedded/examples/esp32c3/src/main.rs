//! An ESP32-C3: each press of the button takes an id in the interrupt, in a few instructions, from
//! a queue that main fills when there is nothing else to do. It asks for a ticket over UART, and
//! sends its ids there.
//!
//! | | |
//! |---|---|
//! | word | `PortableWord` for the clock, as there is no compare-and-swap; `LocalWord<u32>` for the ids, which main generates |
//! | node id | by ticket, for the device whose number is its MAC address |
//! | clock | begins where the ticket's lease does, or at the horizon |
//! | horizon | in a partition of its own, beside the counter of the last ticket: `partitions.csv`; tried again at a pace if the flash refuses |
//! | power | from the mains: main polls UART; a press is answered by an interrupt |
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::fmt::Write as _;
use core::time::Duration;

use critical_section::Mutex;
use embassy_embedded_hal::flash::partition::BlockingPartition;
use embassy_sync::blocking_mutex::Mutex as Shared;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use esp_hal::gpio::{Event, Input, InputConfig, Io, Pull};
use esp_hal::time::Instant;
use esp_hal::uart::Uart;
use esp_hal::{Blocking, efuse, handler, main};
use esp_storage::FlashStorage;
use heapless::spsc::{Producer, Queue};
use pace::Pace;
use panic_halt as _;
use randflake_embedded::randflake_core::{
    Blocks, Clock, GenerateError, Generator, HorizonError, HorizonStore, Id, Lease, LocalWord,
    Monotonic, Randflake as Layout, Sparx64OnTheFly, Ticket, TicketCounter, TicketReader,
    TimeBounds, UnixClock,
};
use randflake_embedded::{FlashHorizon, PortableWord, Prefetch, Taker};
use static_cell::StaticCell;

esp_bootloader_esp_idf::esp_app_desc!();

/// The partition `ids`: the key of the ids and that of the tickets, written where the device was
/// made; then the horizon; then the counter of tickets.
const IDS: u32 = 0x3f_9000;
const PAGE: u32 = FlashStorage::SECTOR_SIZE;
const HORIZON: u32 = IDS + PAGE;
const COUNTER: u32 = HORIZON + 3 * PAGE;

/// The time since boot, which counts 64 bits.
struct Uptime;

impl Monotonic for Uptime {
    fn uptime(&self) -> Duration {
        Duration::from_micros(Instant::now().duration_since_epoch().as_micros())
    }
}

type Time = UnixClock<Uptime, PortableWord>;
type Ids = Generator<Layout, LocalWord<u32>, &'static Time, Sparx64OnTheFly>;

static TIME: Time = UnixClock::new(Uptime);
static PREFETCH: StaticCell<Prefetch<33>> = StaticCell::new();
static PRESSES: StaticCell<Queue<Option<Id>, 32>> = StaticCell::new();

#[main]
fn main() -> ! {
    let p = esp_hal::init(esp_hal::Config::default());
    let mut flash = FlashStorage::new(p.FLASH);
    let mut keys = [[0; 16]; 2];
    flash.read(IDS, keys.as_flattened_mut()).unwrap();
    // Where nothing was written, anybody could make tickets.
    assert!(keys.iter().all(|key| *key != [0xff; 16]));
    let [key, ticket_key] = keys;
    let flash = Shared::<NoopRawMutex, _>::new(RefCell::new(flash));
    let part = |from| BlockingPartition::new(&flash, from, 3 * PAGE);
    let uart = Uart::new(p.UART0, Default::default()).unwrap();
    let mut line = Line::new(uart.with_tx(p.GPIO21).with_rx(p.GPIO20));
    let pages = [HORIZON, COUNTER].map(|from| FlashHorizon::<_>::open(part(from)));
    let [Ok(horizon), Ok(counter)] = pages else {
        // Another format than this program's, or the flash fails.
        loop {
            line.tell("flash unreadable", 0);
            esp_hal::delay::Delay::new().delay_millis(1_000);
        }
    };
    let mut counter = TicketCounter::new(counter);

    let mac = efuse::base_mac_address();
    let device = mac
        .as_bytes()
        .iter()
        .fold(0, |id, byte| id << 8 | u64::from(*byte));
    let mut reader = TicketReader::new(device, counter.last());
    let floor = Duration::from_secs(horizon.unix_s().into());
    let time = &TIME;

    // An id is at most ten seconds old when it is used.
    let (mut filler, taker) = PREFETCH.init(Prefetch::new()).split::<Layout>(10);
    let (queue, mut presses) = PRESSES.init(Queue::new()).split();
    let mut pin = Input::new(p.GPIO9, InputConfig::default().with_pull(Pull::Up));
    pin.listen(Event::FallingEdge);
    let button = Button {
        pin,
        time,
        taker,
        queue,
    };
    critical_section::with(|cs| BUTTON.replace(cs, Some(button)));
    Io::new(p.IO_MUX).set_interrupt_handler(pressed);

    let mut issuer = Issuer {
        horizon,
        key,
        time,
        grant: None,
        ids: None,
        pace: Pace::new(),
    };
    let mut asked = None;
    loop {
        let filled = issuer
            .ids
            .as_ref()
            .map(|ids| filler.fill(&ids.lease(), time, || ids.generate()));
        if matches!(filled, None | Some(Err(GenerateError::LeaseOver { .. }))) {
            issuer.begin();
        }
        while let Some(press) = presses.dequeue() {
            if let Some(id) = press.or_else(|| issuer.next()) {
                line.send(id);
            }
        }
        let now = time.monotonic().uptime();
        let is_time_to_ask =
            asked.is_none_or(|asked| now.saturating_sub(asked) > Duration::from_secs(5));
        if issuer.ids.is_none() && is_time_to_ask {
            asked = Some(now);
            match issuer.horizon.unix_s() {
                // It is provisioned anew, and gets a new lease: the former may have been used
                // further than is known.
                0 => line.tell("horizon lost", device),
                _ if issuer.pace.is_over() => line.tell("flash refuses", device),
                _ => line.tell("ticket", device),
            }
        }
        let Some(bytes) = line.receive() else {
            continue;
        };
        let Ok(grant) = reader.accept::<Layout>(bytes, &ticket_key, time.now()) else {
            continue;
        };
        // Before it is used: after a reset, it is not accepted again.
        if counter.raise(reader.last_counter()).is_ok() {
            if time.now().is_none() {
                let bounds = TimeBounds::from_horizon(floor).within(&grant);
                _ = time.set(bounds.start());
            }
            issuer.grant = Some(grant);
        }
    }
}

/// Ids of one block after the other, while there is a grant.
struct Issuer<H> {
    horizon: H,
    key: [u8; 16],
    time: &'static Time,
    grant: Option<Lease<Layout>>,
    ids: Option<Ids>,
    pace: Pace,
}

impl<H: HorizonStore> Issuer<H> {
    /// Begins the next block. Afterwards there are no ids if the flash refused, or the grant is
    /// used up.
    fn begin(&mut self) -> Option<&Ids> {
        self.ids = None;
        let grant = self.grant?;
        let uptime = self.time.monotonic().uptime();
        // After a failure, tries have a pace: each may cost three erases.
        if !self.pace.is_due(uptime) {
            return None;
        }
        let begun = Blocks::new(grant, &mut self.horizon).begin(self.time.now());
        match &begun {
            Ok(_) => self.pace.succeeded(),
            Err(HorizonError::Store(_)) => self.pace.failed(uptime),
            Err(_) => {}
        }
        let lease = begun.ok()?;
        let key = Sparx64OnTheFly::new(&self.key);
        self.ids = Ids::new(lease, self.time, key).ok();
        self.ids.as_ref()
    }

    fn next(&mut self) -> Option<Id> {
        match self.ids.as_ref()?.generate() {
            Err(GenerateError::LeaseOver { .. }) => self.begin()?.generate().ok(),
            answer => answer.ok(),
        }
    }
}

/// What the interrupt owns.
struct Button {
    pin: Input<'static>,
    time: &'static Time,
    taker: Taker<'static, Layout>,
    queue: Producer<'static, Option<Id>>,
}

static BUTTON: Mutex<RefCell<Option<Button>>> = Mutex::new(RefCell::new(None));

#[handler]
fn pressed() {
    critical_section::with(|cs| {
        if let Some(button) = &mut *BUTTON.borrow_ref_mut(cs) {
            button.pin.clear_interrupt();
            // None if those in the queue are too old, as after a pause: then main makes one at
            // once.
            let id = button.taker.take(button.time);
            _ = button.queue.enqueue(id);
        }
    });
}

/// UART: lines out, tickets in.
struct Line {
    uart: Uart<'static, Blocking>,
    bytes: [u8; Ticket::LEN + 1],
    len: usize,
    last: Instant,
}

impl Line {
    fn new(uart: Uart<'static, Blocking>) -> Self {
        Self {
            uart,
            bytes: [0; Ticket::LEN + 1],
            len: 0,
            last: Instant::now(),
        }
    }

    fn send(&mut self, id: Id) {
        _ = writeln!(self.uart, "{}\r", id.to_text());
    }

    /// The server answers `ticket` with the 32 bytes of `randflake lease ticket --device`.
    fn tell(&mut self, what: &str, device: u64) {
        _ = writeln!(self.uart, "{what} {device:016x}\r");
    }

    /// What came, when a silence of 20 ms ends it.
    fn receive(&mut self) -> Option<&[u8]> {
        const SILENCE: esp_hal::time::Duration = esp_hal::time::Duration::from_millis(20);

        if self.len > 0 && self.last.elapsed() > SILENCE {
            let len = core::mem::take(&mut self.len);
            return Some(&self.bytes[..len]);
        }
        // What is too long ends as one byte too many.
        let from = self.len.min(Ticket::LEN);
        if let Ok(more @ 1..) = self.uart.read_buffered(&mut self.bytes[from..]) {
            self.len = from + more;
            self.last = Instant::now();
        }
        None
    }
}
