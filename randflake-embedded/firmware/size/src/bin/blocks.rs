//! Blocks of a grant past that horizon: taking the next, and opening all after a reset. The driver is not counted.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::time::Duration;

use randflake_embedded::randflake_core::{Blocks, HorizonError, HorizonRecord, Lease, Randflake};
use randflake_embedded::{FlashHorizon, FlashHorizonError};
use size::{Fault, Part};

type Device = Blocks<Randflake, FlashHorizon<Part>>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(
    device: &mut Device,
    now: Option<Duration>,
) -> Result<Lease<Randflake>, HorizonError<FlashHorizonError<Fault>>> {
    device.begin(now)
}

#[unsafe(no_mangle)]
#[inline(never)]
fn probe_open(grant: Lease<Randflake>) -> Result<Device, FlashHorizonError<Fault>> {
    Ok(Device::new(grant, FlashHorizon::open(Part)?))
}

size::image!(Device, {
    const FIRST: Option<HorizonRecord> = HorizonRecord::new(size::START_UNIX_S as u32);
    size::expect(Part::provision(size::expect(FIRST.ok_or(()))));
    let mut device = size::expect(probe_open(size::lease()));
    for _ in 0..2 {
        size::expect(probe(black_box(&mut device), black_box(None)));
    }
});
