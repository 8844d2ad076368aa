//! The next id, with a lane of its own, and round keys made anew from a key in flash.
#![no_std]
#![no_main]

use core::hint::black_box;

use randflake_embedded::randflake_core::{GenerateError, Id, Lane, Randflake, Sparx64OnTheFly};
use size::Shown;

type Ids = Lane<Randflake, Shown, &'static Sparx64OnTheFly>;

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(ids: &mut Ids) -> Result<Id, GenerateError> {
    ids.generate()
}

size::image!(Ids, {
    let [mut ids, _] = size::expect(Ids::split(size::lease(), Shown, &size::KEY));
    size::take_ids(|| probe(black_box(&mut ids)));
});
