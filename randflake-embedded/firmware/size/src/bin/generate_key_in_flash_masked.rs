//! The next id, with round keys made anew from a key in flash, and a word in a critical section.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::CriticalSectionWord;
use randflake_embedded::randflake_core::{
    GenerateError, Generator, Id, Layout, Permutation, Randflake, LayoutSpec,
};
use size::{KEY, Shown};

/// What has no size names the key.
#[derive(Debug)]
struct InFlash;

impl Permutation for InFlash {
    fn permute(&self, raw: u64) -> u64 {
        KEY.permute(raw)
    }

    fn invert(&self, public: u64) -> u64 {
        KEY.invert(public)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InFlashIds;

impl Layout for InFlashIds {
    type Permutation = InFlash;

    const SPEC: LayoutSpec = Randflake::SPEC;
}

type Ids = Generator<InFlashIds, CriticalSectionWord, Shown>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &Ids) -> Result<Id, GenerateError> {
    ids.generate()
}

size::image!(Ids, {
    let ids = size::expect(Ids::new(size::lease(), Shown, InFlash));
    size::take_ids(|| probe(black_box(&ids)));
});
