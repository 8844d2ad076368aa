//! One place of a handle's pool: the issuer at work, replaced when its lease is lost.

#![expect(
    unsafe_code,
    reason = "readers follow a pointer that is freed with the slot only"
)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// Holds the current value, and every former one until the slot is dropped.
///
/// A thread may still look at a value when it is replaced. Keeping them costs some hundred bytes for
/// each *lost* lease (a renewed one keeps its place), and makes reading as cheap as it can be: one
/// load, no lock, no count.
#[derive(Debug)]
pub(super) struct Slot<T> {
    current: AtomicPtr<T>,
    /// From `Box::into_raw`, once each.
    kept: Mutex<Vec<*mut T>>,
}

// SAFETY: the slot owns its values as a `Vec<Box<T>>` would; the lock guards the list.
unsafe impl<T: Send + Sync> Send for Slot<T> {}
// SAFETY: as above, and readers get `&T` alone.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(super) fn new(value: T) -> Self {
        let slot = Self {
            current: AtomicPtr::new(ptr::null_mut()),
            kept: Mutex::default(),
        };
        slot.replace(value);
        slot
    }

    /// The value now.
    #[inline]
    pub(super) fn get(&self) -> &T {
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: `replace`, which `new` calls, sets it to a box that lives until the slot is dropped,
        // and this borrow of the slot forbids that; values are only ever borrowed shared.
        unsafe { &*current }
    }

    /// Puts another value in its place.
    pub(super) fn replace(&self, value: T) {
        let value = Box::into_raw(Box::new(value));
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value);
        self.current.store(value, Ordering::Release);
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        for value in self
            .kept
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            // SAFETY: it came from `Box::into_raw`, once, and nobody borrows the slot any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn readers_see_whole_values_and_every_value_is_dropped_once() {
        let counted = Arc::new(());
        let slot = Slot::new((0, 0, Arc::clone(&counted)));
        thread::scope(|scope| {
            scope.spawn(|| (1..20).for_each(|n| slot.replace((n, n, Arc::clone(&counted)))));
            scope.spawn(|| {
                for _ in 0..50 {
                    let (a, b, _) = slot.get();
                    assert_eq!(a, b);
                }
            });
        });
        assert_eq!(slot.get().0, 19);
        assert_eq!(Arc::strong_count(&counted), 21);
        drop(slot);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
