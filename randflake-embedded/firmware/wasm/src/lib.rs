//! Ids in a WebAssembly module without a system: the host gives it the time. `host.mjs` is such a
//! host.
#![no_std]

use core::cell::{Cell, OnceCell};
use core::panic::PanicInfo;
use core::time::Duration;

use randflake_core::{
    Clock, GenerateError, Generator, Layout, Lease, LocalWord, Randflake, Sparx64OnTheFly,
};

#[link(wasm_import_module = "clock")]
unsafe extern "C" {
    /// Seconds of Unix time; 0 while they are not known.
    safe fn unix_s() -> u32;
}

struct Host;

impl Clock for Host {
    fn now(&self) -> Option<Duration> {
        match unix_s() {
            0 => None,
            seconds => Some(Duration::from_secs(seconds.into())),
        }
    }
}

type Ids = Generator<Randflake, LocalWord<u64>, Host, Sparx64OnTheFly>;

struct Module {
    key: Cell<[u8; 16]>,
    ids: OnceCell<Ids>,
    id: Cell<u64>,
}

// SAFETY: the module is built without threads.
unsafe impl Sync for Module {}

static MODULE: Module = Module {
    key: Cell::new([0; 16]),
    ids: OnceCell::new(),
    id: Cell::new(0),
};

/// Where the host writes the 16 bytes of the key before `start`.
#[unsafe(no_mangle)]
extern "C" fn key() -> *mut [u8; 16] {
    MODULE.key.as_ptr()
}

/// Takes the lease of a node id, in Unix seconds; once. Whether it is one, and the first.
#[unsafe(no_mangle)]
extern "C" fn start(node_id: u32, start_unix_s: u32, end_unix_s: u32) -> bool {
    if MODULE.ids.get().is_some() {
        return false;
    }
    let tick = |unix_s: u32| Randflake::SPEC.tick_at(Duration::from_secs(unix_s.into()));
    let (Some(start), Some(end)) = (tick(start_unix_s), tick(end_unix_s)) else {
        return false;
    };
    let Ok(lease) = Lease::new(Randflake, node_id, start, end) else {
        return false;
    };
    let cipher = Sparx64OnTheFly::new(&MODULE.key.replace([0; 16]));
    Ids::new(lease, Host, cipher).is_ok_and(|ids| MODULE.ids.set(ids).is_ok())
}

/// Makes the next id, which `id` shows. 0 if it did; else there is none: 1 before `start`, 2 while
/// the time is not known, 3 until the clock shows a later second, 4 since the lease is over.
#[unsafe(no_mangle)]
extern "C" fn generate() -> u32 {
    let Some(ids) = MODULE.ids.get() else {
        return 1;
    };
    match ids.generate() {
        Ok(id) => {
            MODULE.id.set(id.to_u64());
            0
        }
        Err(GenerateError::ClockUnknown) => 2,
        Err(GenerateError::LeaseOver { .. }) => 4,
        Err(_) => 3,
    }
}

/// The last id that was made.
#[unsafe(no_mangle)]
extern "C" fn id() -> u64 {
    MODULE.id.get()
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
