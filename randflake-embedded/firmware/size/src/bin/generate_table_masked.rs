//! The next id, with a table of round keys and a word in a critical section.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::CriticalSectionWord;
use randflake_embedded::randflake_core::{GenerateError, Generator, Id, Randflake, Sparx64};
use size::Shown;

type Ids = Generator<Randflake, CriticalSectionWord, Shown>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &Ids) -> Result<Id, GenerateError> {
    ids.generate()
}

size::image!(Ids, {
    let cipher = Sparx64::new(size::KEY_BYTES);
    let ids = size::expect(Ids::new(size::lease(), Shown, cipher));
    size::take_ids(|| probe(black_box(&ids)));
});
