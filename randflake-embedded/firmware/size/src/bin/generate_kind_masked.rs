//! The next id, with round keys made anew and a word in a critical section, or which reason there is for none.
#![no_std]
#![no_main]

size::generate_image!(CriticalSectionWord, Sparx64OnTheFly, |ids| -> Result<
    Id,
    GenerateErrorKind,
> {
    ids.generate().map_err(GenerateError::kind)
});
