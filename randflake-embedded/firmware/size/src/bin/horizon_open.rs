//! Opening the horizon alone: the records of the kept page are many, or all that it holds. The driver is not counted.
#![no_std]
#![no_main]

use core::hint::black_box;

use embedded_storage::nor_flash::NorFlash;
use randflake_embedded::randflake_core::HorizonRecord;
use randflake_embedded::{FlashHorizon, FlashHorizonError};
use size::{Fault, Part};

type Horizon = FlashHorizon<Part>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe() -> Result<Horizon, FlashHorizonError<Fault>> {
    Horizon::open(Part)
}

fn record(unix_s: u32) -> HorizonRecord {
    size::expect(HorizonRecord::new(unix_s).ok_or(()))
}

size::image!(Horizon, {
    // All slots of the first page behind its seal, and then less than half of them.
    for end in [256, 100] {
        size::expect(Part::provision(record(4)));
        for slot in 2..end {
            let record = record(4 * slot).to_bytes();
            size::expect(Part.write(8 * slot, &record));
        }
        _ = black_box(size::expect(probe()));
    }
});
