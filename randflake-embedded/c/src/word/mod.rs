//! The word that the main code and interrupts share.

#[cfg(not(target_has_atomic = "32"))]
mod masked;

#[cfg(target_has_atomic = "32")]
pub(crate) use core::sync::atomic::AtomicU32 as Word;

#[cfg(not(target_has_atomic = "32"))]
pub(crate) use masked::Word;
use randflake_core::AtomicWord;

pub(crate) fn load(word: &Word) -> u32 {
    AtomicWord::load(word)
}

/// Stores a value; the last of concurrent stores wins. By exchange, as a word has no other way to
/// write.
pub(crate) fn store(word: &Word, value: u32) {
    while !AtomicWord::compare_exchange(word, load(word), value) {}
}
