//! The word that the main code and interrupts share.

#[cfg_attr(target_has_atomic = "32", path = "native.rs")]
#[cfg_attr(not(target_has_atomic = "32"), path = "masked.rs")]
mod of_processor;

pub(crate) use of_processor::Word;
use randflake_core::AtomicWord;

pub(crate) fn load(word: &Word) -> u32 {
    AtomicWord::load(word)
}

/// Stores a value; the last of concurrent stores wins. By exchange, as a word has no other way to write.
pub(crate) fn store(word: &Word, value: u32) {
    while !AtomicWord::compare_exchange(word, load(word), value) {}
}
