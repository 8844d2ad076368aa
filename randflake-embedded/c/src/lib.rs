//! The C library, whose interface and documentation are in `randflake.h`.
//!
//! Each function of the header is `extern "C"` here; what its arguments must be is the header's to say. All rules are
//! those of `randflake-core`.
#![no_std]

mod block;
mod clock;
mod config;
mod flash;
mod form;
mod gate;
mod grant;
mod horizon;
mod init;
#[cfg(feature = "planted-panic")]
mod planted;
mod retained;
mod status;
mod text;
mod ticket;
mod word;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use randflake_core::{Codec, Sequencer};

use config::Config;
use form::{Cipher, Ids};
use gate::Gate;
use word::Word;

/// The C type `rf_t`. Zeroed memory is a valid one: its gate is closed and its clock knows no time.
#[repr(C)]
pub struct Rf {
    /// Guards `block`: open while ids may be taken from it.
    gate: Gate<Word>,
    /// Unix time minus uptime, wrapping; 0 while it is not known.
    offset: Word,
    /// The same for the time that steps are counted from: the last trusted setting, or the start of the first one.
    trusted: Word,
    setup: UnsafeCell<MaybeUninit<Setup>>,
    block: UnsafeCell<MaybeUninit<Sequencer<Ids, Word>>>,
}

/// What `rf_init` has made of its configuration.
struct Setup {
    codec: Codec<Ids, Cipher>,
    config: Config,
}

const _: () = assert!(size_of::<Rf>() == status::SIZE && align_of::<Rf>() <= status::ALIGN);

impl Rf {
    /// The cipher and the configuration; `None` before `rf_init`.
    fn setup(&self) -> Option<&Setup> {
        // SAFETY: `rf_init` has written it before it set the gate up.
        self.gate
            .is_set_up()
            .then(|| unsafe { self.setup_written() })
    }

    /// # Safety
    ///
    /// `rf_init` has written it.
    unsafe fn setup_written(&self) -> &Setup {
        // SAFETY: `rf_init` runs beside nothing that asks, or with the gate closed to whoever does.
        let setup = unsafe { &*self.setup.get() };
        // SAFETY: it was written.
        unsafe { setup.assume_init_ref() }
    }
}

/// The core never panics. If that changed, or a panic were called for here, the library would not link: there is no
/// such function.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn randflake_has_a_panic() -> !;
    }
    randflake_has_a_panic()
}
