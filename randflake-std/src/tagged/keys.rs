//! The keys that were read, by number: without a lock, so that a forked child never waits for one.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use randflake_core::{KeyNumber, TagKey};
use randflake_lease::Secret;

/// A secret, and the key of tags that is derived from it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) secret: Secret,
    pub(super) tag: TagKey,
}

/// The key of one number. Once it was read it never changes.
#[derive(Debug, Default)]
struct Place {
    key: OnceLock<Key>,
    /// Whether its file was there when the directory was read last.
    is_there: AtomicBool,
}

/// One place for each number.
#[derive(Debug)]
pub(super) struct Keys([Place; KeyNumber::MAX.get() as usize]);

impl Keys {
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| Place::default()))
    }

    /// The key of a number, if it was ever read.
    pub(super) fn get(&self, number: KeyNumber) -> Option<&Key> {
        self.place(number)?.key.get()
    }

    /// Whether its file was there when the directory was read last.
    pub(super) fn is_there(&self, number: KeyNumber) -> bool {
        let place = self.place(number);
        // With the store of `set_there`: who sees it also finds the key.
        place.is_some_and(|place| place.is_there.load(Ordering::Acquire))
    }

    /// Keeps a key, unless the number has one already.
    pub(super) fn put(&self, number: KeyNumber, key: Key) {
        if let Some(place) = self.place(number) {
            _ = place.key.set(key);
        }
    }

    pub(super) fn set_there(&self, number: KeyNumber, is_there: bool) {
        if let Some(place) = self.place(number) {
            place.is_there.store(is_there, Ordering::Release);
        }
    }

    fn place(&self, number: KeyNumber) -> Option<&Place> {
        self.0.get(usize::from(number.get()) - 1)
    }
}

/// All key numbers, in order.
pub(super) fn numbers() -> impl DoubleEndedIterator<Item = KeyNumber> {
    (KeyNumber::MIN.get()..=KeyNumber::MAX.get()).filter_map(|number| KeyNumber::new(number).ok())
}
