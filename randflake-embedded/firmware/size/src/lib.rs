//! Common code of the images. Each holds one call as `probe`, of whose arguments the compiler knows nothing, and what that
//! works on as `STATE`. By so much as an image is larger than `empty` a program is larger for the call.
#![no_std]

mod flash;
mod time;

use core::hint::black_box;
use core::panic::PanicInfo;

#[cfg(target_arch = "arm")]
use cortex_m as _;
#[cfg(target_arch = "arm")]
pub use cortex_m_rt::entry;
use randflake_embedded::randflake_core::{Layout, Lease, Sparx64OnTheFly};
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;

pub use flash::{Fault, Part};
pub use time::{Counter, START_UNIX_S, Shown};

/// What images name.
pub mod names {
    pub use core::hint::black_box;
    pub use core::sync::atomic::AtomicU32;
    pub use core::time::Duration;

    pub use embedded_storage::nor_flash::NorFlash;
    pub use randflake_embedded::randflake_core::*;
    pub use randflake_embedded::{CriticalSectionWord, FlashHorizon, FlashHorizonError, id_string};

    pub use crate::{
        Counter, Fault, KEY, KEY_BYTES, Part, START_UNIX_S, Shown, expect, lease, take_ids,
        take_ids_after,
    };
}

/// An image: what a program keeps in RAM, the functions that are kept, and what calls them, if the image is one that
/// runs. The last call is the usual one.
#[macro_export]
macro_rules! image {
    (
        state: $state:ty,
        $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $answer:ty)? $body:block)*
        run: $run:block
    ) => {
        #[allow(unused_imports, reason = "each image needs others")]
        use $crate::names::*;

        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            fn $name($($argument: $type),*) $(-> $answer)? $body
        )*

        #[unsafe(no_mangle)]
        static mut STATE: core::mem::MaybeUninit<$state> = core::mem::MaybeUninit::uninit();

        #[$crate::entry]
        fn main() -> ! {
            if $crate::RUNS {
                $crate::unmask();
                $run;
            }
            $crate::exit(0)
        }
    };
}

/// One block.
#[macro_export]
macro_rules! cipher_image {
    ($cipher:ty) => {
        $crate::image! {
            state: $cipher,
            fn probe(cipher: &$cipher, block: u64) -> u64 { cipher.encrypt_u64(block) }
            run: {
                let cipher = <$cipher>::new(KEY_BYTES);
                black_box(probe(black_box(&cipher), black_box(7)));
            }
        }
    };
}

/// The next id, or a part of the answer.
#[macro_export]
macro_rules! generate_image {
    ($word:ty, $cipher:ty) => {
        $crate::generate_image!($word, $cipher, |ids| -> Result<Id, GenerateError> {
            ids.generate()
        });
    };
    ($word:ty, $cipher:ty, |$ids:ident| -> $answer:ty $body:block) => {
        type Ids = Generator<Randflake, $word, Shown, $cipher>;

        $crate::image! {
            state: Ids,
            fn probe($ids: &Ids) -> $answer $body
            run: {
                let cipher = <$cipher>::new(KEY_BYTES);
                let ids = expect(Ids::new(lease(), Shown, cipher));
                take_ids(|| probe(black_box(&ids)));
            }
        }
    };
}

/// The next id of a lane.
#[macro_export]
macro_rules! lane_image {
    ($cipher:ty, $key:expr) => {
        type Ids = Lane<Randflake, Shown, $cipher>;

        $crate::image! {
            state: Ids,
            fn probe(ids: &mut Ids) -> Result<Id, GenerateError> { ids.generate() }
            run: {
                let [mut ids, _] = expect(Ids::split(lease(), Shown, $key));
                take_ids(|| probe(black_box(&mut ids)));
            }
        }
    };
}

/// The next id as a device takes it: round keys made anew, a word in a critical section, and for a clock the ticks of a
/// timer with the offset that synchronisation sets.
#[macro_export]
macro_rules! ticks_image {
    ($hz:literal) => {
        type Ticks = Uptime<$hz, fn() -> u32, CriticalSectionWord>;
        type Clock = UnixClock<Ticks, CriticalSectionWord>;
        type Ids = Generator<Randflake, CriticalSectionWord, Clock, Sparx64OnTheFly>;

        $crate::image! {
            state: Ids,
            fn probe(ids: &Ids) -> Result<Id, GenerateError> { ids.generate() }
            run: {
                let clock = Clock::new(Ticks::new(Counter::<$hz>::read));
                expect(clock.set(Duration::from_secs(START_UNIX_S)));
                let ids = expect(Ids::new(lease(), clock, Sparx64OnTheFly::new(KEY_BYTES)));
                take_ids_after(Counter::<$hz>::advance, || probe(black_box(&ids)));
            }
        }
    };
}

/// The horizon in three pages of flash that writes so many bytes at once: raising it, and opening it after a reset. The
/// driver is not counted.
#[macro_export]
macro_rules! horizon_image {
    ($slot:literal) => {
        type Horizon = FlashHorizon<Part, $slot>;

        $crate::image! {
            state: Horizon,
            fn probe(horizon: &mut Horizon, unix_s: u32) -> Result<(), FlashHorizonError<Fault>> {
                horizon.raise(unix_s)
            }
            fn probe_open() -> Result<Horizon, FlashHorizonError<Fault>> { Horizon::open(Part) }
            run: {
                let mut horizon = expect(probe_open());
                for unix_s in [4, 8] {
                    expect(probe(black_box(&mut horizon), black_box(unix_s)));
                }
            }
        }
    };
}

/// If not, the image holds the probe, and nothing that a program does before it.
pub const RUNS: bool = cfg!(feature = "run");

/// Interrupts as they are while a program's main code runs; none is enabled.
#[cfg(target_arch = "arm")]
pub fn unmask() {}

#[cfg(target_arch = "riscv32")]
pub fn unmask() {
    // SAFETY: no critical section is open.
    unsafe { riscv::interrupt::enable() };
}

pub fn exit(code: i32) -> ! {
    semihosting::process::exit(code)
}

/// No image has it, unless something there panics.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(101)
}

pub static KEY: Sparx64OnTheFly = Sparx64OnTheFly::new(KEY_BYTES);

pub const KEY_BYTES: &[u8; 16] = b"sixteen byte key";

/// An hour from what the clock shows.
pub fn lease<L: Layout>() -> Lease<L> {
    let start = time::START_UNIX_S - L::SPEC.epoch_unix_ms() / 1_000;
    expect(Lease::new(L::default(), 42, start, start + 3_600))
}

/// The first id of the lease, the first of the next second, and the one after it, which is the usual one.
pub fn take_ids<T: IntoIterator>(next: impl FnMut() -> T) {
    Shown.set();
    take_ids_after(|| Shown.advance(), next);
}

/// The same with another clock.
pub fn take_ids_after<T: IntoIterator>(a_second: impl FnOnce(), mut next: impl FnMut() -> T) {
    let mut take = || expect(black_box(next()).into_iter().next().ok_or(()));
    take();
    a_second();
    take();
    take();
}

pub fn expect<T, E>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|_| exit(1))
}
