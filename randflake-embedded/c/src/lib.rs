//! The C library, whose interface and documentation are in `randflake.h`.
//!
//! Each function of the header is `extern "C"` here; what its arguments must be is the header's to
//! say. All rules are those of `randflake-core`.
#![no_std]

mod block;
mod clock;
mod config;
mod flash;
mod form;
mod gate;
mod horizon;
mod init;
mod status;
mod word;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use randflake_core::{Codec, Sequencer};

use config::Config;
use form::{Cipher, Ids};
use gate::{Gate, SET_UP};
use status::Status;
use word::Word;

/// The C type `rf_t`. Zeroed memory is a valid one: nothing is set up and its clock knows no time.
#[repr(C)]
pub struct Rf {
    /// Guards `setup` and `block`.
    gate: Gate<Word>,
    /// Unix time minus uptime, wrapping; 0 while it is not known.
    offset: Word,
    /// The same for the time that steps are counted from: the last trusted setting, or the start of
    /// the first one.
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
    /// Runs a call that changes something, unless another one is in progress: in a second task, in
    /// what an interrupt has stopped, or in a callback of which this is called.
    fn alone(&self, call: impl FnOnce() -> Result<(), Status>) -> Result<(), Status> {
        if !self.gate.claim() {
            return Err(status::BUSY);
        }
        let result = call();
        self.gate.release();
        result
    }

    /// Runs a call that reads the configuration; `None` where there is none, or none at the moment.
    #[inline]
    fn inside<R>(&self, call: impl FnOnce(&Setup) -> R) -> Option<R> {
        if !self.gate.enter(SET_UP) {
            return None;
        }
        // SAFETY: it is set up, and stays so until the gate is left.
        let result = call(unsafe { self.setup() });
        self.gate.leave();
        Some(result)
    }

    /// The cipher and the configuration.
    ///
    /// # Safety
    ///
    /// The gate has `SET_UP`, and the caller is inside or has claimed it.
    unsafe fn setup(&self) -> &Setup {
        // SAFETY: who replaces it claims the gate, and withdraws `SET_UP` first.
        let setup = unsafe { &*self.setup.get() };
        // SAFETY: it was written before `SET_UP` was set.
        unsafe { setup.assume_init_ref() }
    }
}

/// The core never panics. If that changed, or a panic were called for here, the library would not
/// link: there is no such function.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn randflake_has_a_panic() -> !;
    }
    randflake_has_a_panic()
}
