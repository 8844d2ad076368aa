//! The next id, with round keys made anew from a key in flash, and a word in a critical section.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::CriticalSectionWord;
use randflake_embedded::randflake_core::{GenerateError, Generator, Id, Permutation, Randflake};
use size::{KEY, Shown};

/// What has no size names the key.
struct InFlash;

impl Permutation for InFlash {
    fn permute(&self, raw: u64) -> u64 {
        KEY.permute(raw)
    }

    fn invert(&self, public: u64) -> u64 {
        KEY.invert(public)
    }
}

type Ids = Generator<Randflake, CriticalSectionWord, Shown, InFlash>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &Ids) -> Result<Id, GenerateError> {
    ids.generate()
}

size::image!(Ids, {
    let ids = size::expect(Ids::new(size::lease(), Shown, InFlash));
    size::take_ids(|| probe(black_box(&ids)));
});
