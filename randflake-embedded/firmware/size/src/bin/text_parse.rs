//! An id out of its text.
#![no_std]
#![no_main]

size::image! {
    state: (),
    fn probe(text: &str) -> Result<Id, IdError> { text.parse() }
    run: { expect(probe(black_box("fvvvvvvvvvvvv"))); }
}
