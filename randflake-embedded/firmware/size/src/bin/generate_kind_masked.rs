//! The next id, with round keys made anew and a word in a critical section, or which reason there is for none.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::CriticalSectionWord;
use randflake_embedded::randflake_core::{
    GenerateError, GenerateErrorKind, Generator, Id, Randflake, Sparx64OnTheFly,
};
use size::Shown;

type Ids = Generator<Randflake, CriticalSectionWord, Shown, Sparx64OnTheFly>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &Ids) -> Result<Id, GenerateErrorKind> {
    ids.generate().map_err(GenerateError::kind)
}

size::image!(Ids, {
    let cipher = Sparx64OnTheFly::new(size::KEY_BYTES);
    let ids = size::expect(Ids::new(size::lease(), Shown, cipher));
    size::take_ids(|| probe(black_box(&ids)));
});
