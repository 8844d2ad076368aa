//! The horizon in flash that writes 16 bytes at once: raising it, and opening it after a reset. The driver is not counted.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::HorizonStore;
use randflake_embedded::{FlashHorizon, FlashHorizonError};
use size::{Fault, Part};

type Horizon = FlashHorizon<Part, 16>;

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

size::image!(Horizon, {
    let mut horizon = size::expect(probe_open());
    for unix_s in [4, 8] {
        size::expect(probe(black_box(&mut horizon), black_box(unix_s)));
    }
});
