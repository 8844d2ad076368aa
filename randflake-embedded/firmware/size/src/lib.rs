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
use randflake_embedded::randflake_core::{Id, Layout, Lease, Sparx64OnTheFly};
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;

pub use flash::{Fault, Part};
pub use time::{Counter, START_UNIX_S, Shown};

/// The program: calls the probe, if the image is one that runs. The last call is the usual one.
#[macro_export]
macro_rules! image {
    ($state:ty, $run:block) => {
        /// What a program keeps in RAM.
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

/// An image of the next id as a device takes it: round keys made anew, a word in a critical section, and for a clock
/// the ticks of a timer with the offset that synchronisation sets.
#[macro_export]
macro_rules! ticks_image {
    ($hz:literal) => {
        use core::hint::black_box;
        use core::time::Duration;

        use randflake_embedded::CriticalSectionWord as Word;
        use randflake_embedded::randflake_core::{
            GenerateError, Generator, Id, Randflake, Sparx64OnTheFly, UnixClock, Uptime,
        };
        use $crate::{Counter, START_UNIX_S};

        type Ticks = Uptime<$hz, fn() -> u32, Word>;
        type Ids = Generator<Randflake, Word, UnixClock<Ticks, Word>, Sparx64OnTheFly>;

        #[unsafe(no_mangle)]
        #[inline(never)]
        fn probe(ids: &Ids) -> Result<Id, GenerateError> {
            ids.generate()
        }

        $crate::image!(Ids, {
            let clock = UnixClock::new(Ticks::new(Counter::<$hz>::read));
            $crate::expect(clock.set(Duration::from_secs(START_UNIX_S)));
            let cipher = Sparx64OnTheFly::new($crate::KEY_BYTES);
            let ids = $crate::expect(Ids::new($crate::lease(), clock, cipher));
            $crate::take_ids_after(Counter::<$hz>::advance, || probe(black_box(&ids)));
        });
    };
}

/// An image of the horizon in three pages of flash that writes so many bytes at once: raising it, and opening it after a
/// reset. The driver is not counted.
#[macro_export]
macro_rules! horizon_image {
    ($slot:literal) => {
        use core::hint::black_box;

        use randflake_embedded::randflake_core::HorizonStore;
        use randflake_embedded::{FlashHorizon, FlashHorizonError};
        use $crate::{Fault, Part};

        type Horizon = FlashHorizon<Part, $slot>;

        #[unsafe(no_mangle)]
        #[inline(never)]
        fn probe(horizon: &mut Horizon, unix_s: u32) -> Result<(), FlashHorizonError<Fault>> {
            horizon.raise(unix_s)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        fn probe_open() -> Result<Horizon, FlashHorizonError<Fault>> {
            Horizon::open(Part)
        }

        $crate::image!(Horizon, {
            let mut horizon = $crate::expect(probe_open());
            for unix_s in [4, 8] {
                $crate::expect(probe(black_box(&mut horizon), black_box(unix_s)));
            }
        });
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
pub fn take_ids<E>(next: impl FnMut() -> Result<Id, E>) {
    Shown.set();
    take_ids_after(|| Shown.advance(), next);
}

/// The same with another clock.
pub fn take_ids_after<E>(a_second: impl FnOnce(), mut next: impl FnMut() -> Result<Id, E>) {
    expect(black_box(next()));
    a_second();
    expect(black_box(next()));
    expect(black_box(next()));
}

pub fn expect<T, E>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|_| exit(1))
}
