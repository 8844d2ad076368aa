//! An id's text, in a string of `heapless`.
#![no_std]
#![no_main]

size::image! {
    state: (),
    fn probe(id: Id) -> heapless::String<13> { id_string(id) }
    run: { black_box(probe(black_box(Id::from_u64(u64::MAX)))); }
}
