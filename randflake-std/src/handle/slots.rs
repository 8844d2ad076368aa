//! Slots of a handle: each has an issuer in use, or is vacant.

#![expect(
    unsafe_code,
    reason = "readers follow a pointer that is freed when nobody can have it"
)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use randflake_core::internal::first_ready_within;
use randflake_core::{AtomicWord, GenerateError};

/// Current values, and former ones while a thread may still read them.
///
/// A thread may still look at a value when it is replaced. Where that happens only when a lease is
/// lost, all former values are kept until the end: then reading is one load, without a count. Where
/// values come and go with the load, readers are counted, and former values are freed when there
/// are none.
#[derive(Debug)]
pub(super) struct Slots<T> {
    /// Slots that keep former values until the end, or none.
    lasting: Box<[SlotCell<T>]>,
    /// Slots whose readers are counted, or none.
    changing: Box<[SlotCell<T>]>,
    /// Number of threads that are reading the changing slots.
    readers: AtomicUsize,
    /// Former values, each from `Box::into_raw` and listed once.
    former: Mutex<Vec<NonNull<T>>>,
}

/// A slot. A reference to it gives the right to read it: see [`Slots::read`].
#[derive(Debug)]
struct SlotCell<T>(AtomicPtr<T>);

// SAFETY: they own their values as a `Vec<Box<T>>` would; the lock guards the list.
unsafe impl<T: Send + Sync> Send for Slots<T> {}
// SAFETY: as above, and readers get `&T` alone.
unsafe impl<T: Send + Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// Creates a slot per value. Former values are kept until the end.
    pub(super) fn lasting(values: Vec<T>) -> Self {
        Self::new(
            values.into_iter().map(SlotCell::new).collect(),
            Box::default(),
        )
    }

    /// Creates `count` slots, the first ones with values. Former values are freed by
    /// [`reclaim`](Slots::reclaim).
    pub(super) fn changing(values: Vec<T>, count: usize) -> Self {
        let vacant = core::iter::repeat_with(SlotCell::vacant);
        // All at once, a pointer each: readers follow the slice without a lock, so it cannot grow.
        let slots = values
            .into_iter()
            .map(SlotCell::new)
            .chain(vacant)
            .take(count);
        Self::new(Box::default(), slots.collect())
    }

    fn new(lasting: Box<[SlotCell<T>]>, changing: Box<[SlotCell<T>]>) -> Self {
        Self {
            lasting,
            changing,
            readers: AtomicUsize::new(0),
            former: Mutex::default(),
        }
    }

    /// The value of a lasting slot; `None` if the slots are changing.
    #[inline]
    pub(super) fn get_lasting(&self, index: usize) -> Option<&T> {
        self.lasting.get(index)?.get()
    }

    #[inline]
    fn counts(&self) -> bool {
        !self.changing.is_empty()
    }

    #[inline]
    fn all(&self) -> &[SlotCell<T>] {
        if self.counts() {
            &self.changing
        } else {
            &self.lasting
        }
    }

    /// The slots, to read while this lives.
    #[inline]
    pub(super) fn read(&self) -> SlotsReader<'_, T> {
        if self.counts() {
            // Acquire: who begins after `reclaim` found nobody sees what was put in place before
            // that.
            self.readers.fetch_add(1, Ordering::Acquire);
        }
        SlotsReader(self)
    }

    /// Puts another value in a slot.
    pub(super) fn replace(&self, index: usize, value: T) {
        self.exchange(index, Box::into_raw(Box::new(value)));
    }

    /// Makes a slot vacant.
    pub(super) fn vacate(&self, index: usize) {
        self.exchange(index, ptr::null_mut());
    }

    fn exchange(&self, index: usize, value: *mut T) {
        let Some(slot) = self.all().get(index) else {
            return;
        };
        // Release: who loads the new pointer sees the value behind it. Acquire: this thread may
        // free the former value, and must see it whole.
        let former = slot.0.swap(value, Ordering::AcqRel);
        self.former().extend(NonNull::new(former));
    }

    /// Frees replaced values, unless a thread is reading.
    pub(super) fn reclaim(&self) {
        let mut former = self.former();
        if !self.counts() || former.is_empty() {
            return;
        }
        // A write, though of what is there: the count's readers are before it or after it, in one
        // order. Those before have ended, and this acquires what they did; those after acquire what
        // this releases, the new pointers. Relaxed if there is a reader: nothing is freed then, and
        // the keeper looks again in its next period.
        let nobody = self
            .readers
            .compare_exchange(0, 0, Ordering::AcqRel, Ordering::Relaxed);
        if nobody.is_ok() {
            free(former.drain(..));
        }
    }

    fn former(&self) -> MutexGuard<'_, Vec<NonNull<T>>> {
        self.former.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees values that nobody can reach any more.
fn free<T>(values: impl Iterator<Item = NonNull<T>>) {
    for value in values {
        // SAFETY: it came from `Box::into_raw`, and was taken from where it was kept; nobody
        // borrows it any more.
        drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
}

impl<T> SlotCell<T> {
    fn new(value: T) -> Self {
        Self(AtomicPtr::new(Box::into_raw(Box::new(value))))
    }

    fn vacant() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value in use; `None` if the slot is vacant.
    #[inline]
    fn get(&self) -> Option<&T> {
        let current = self.0.load(Ordering::Acquire);
        // SAFETY: it is null or a box that is freed when the slots are dropped, which this borrow
        // forbids, or by `reclaim`, which the `SlotsReader` forbids that this borrow is of. Values
        // are only ever borrowed shared.
        unsafe { current.as_ref() }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        let slots = self.lasting.iter_mut().chain(&mut self.changing);
        let current = slots.map(|slot| *slot.0.get_mut());
        free(current.filter_map(NonNull::new));
        // Not locked: in a forked child another thread may have had the lock.
        let former = self.former.get_mut();
        free(former.unwrap_or_else(PoisonError::into_inner).drain(..));
    }
}

/// A right to read slots. Values that are replaced meanwhile are not freed.
#[derive(Debug)]
pub(super) struct SlotsReader<'a, T>(&'a Slots<T>);

impl<T> SlotsReader<'_, T> {
    /// The value of a slot; `None` if that is vacant.
    #[inline]
    pub(super) fn value(&self, index: usize) -> Option<&T> {
        self.0.all().get(index)?.get()
    }

    /// The values in use.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.all().iter().filter_map(SlotCell::get)
    }

    /// Number of slots, also of vacant ones.
    pub(super) fn count(&self) -> usize {
        self.0.all().len()
    }

    /// Asks slot after slot as [`first_ready_within`] does; a vacant one is `None`.
    #[inline]
    pub(super) fn first_ready_within<W: AtomicWord, R>(
        &self,
        cursor: &W,
        tolerance: u32,
        mut ask: impl FnMut(Option<&T>, u32) -> Result<R, GenerateError>,
    ) -> Result<R, GenerateError> {
        first_ready_within(self.0.all(), cursor, tolerance, |slot, tolerance| {
            ask(slot.get(), tolerance)
        })
    }
}

impl<T> Drop for SlotsReader<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.0.counts() {
            // Release: what was read is done with.
            self.0.readers.fetch_sub(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    type Counted = (u32, u32, Arc<()>);

    fn read(slots: &Slots<Counted>) -> Option<u32> {
        let reading = slots.read();
        let (a, b, _) = reading.value(0)?;
        assert_eq!(a, b);
        Some(*a)
    }

    /// One thread replaces and another reads; gives how many of 21 values are there at the end.
    fn replaced_while_read(slots: &Slots<Counted>, counted: &Arc<()>) -> usize {
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..20 {
                    if n % 5 == 0 {
                        slots.vacate(0);
                    }
                    slots.replace(0, (n, n, Arc::clone(counted)));
                    slots.reclaim();
                }
            });
            scope.spawn(|| (0..50).for_each(|_| _ = read(slots)));
        });
        assert_eq!(read(slots), Some(19));
        Arc::strong_count(counted) - 1
    }

    #[test]
    fn lasting_values_are_all_kept_and_dropped_once() {
        let counted = Arc::new(());
        let slots = Slots::lasting(vec![(0, 0, Arc::clone(&counted))]);
        assert_eq!(replaced_while_read(&slots, &counted), 20);
        assert_eq!(slots.get_lasting(0).unwrap().0, 19);
        drop(slots);
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn changing_values_are_freed_once_nobody_reads() {
        let counted = Arc::new(());
        let slots = Slots::changing(vec![(0, 0, Arc::clone(&counted))], 2);
        assert!(slots.get_lasting(0).is_none());
        assert!(slots.read().value(1).is_none());
        replaced_while_read(&slots, &counted);
        slots.reclaim();
        assert_eq!(Arc::strong_count(&counted), 2);

        let reading = slots.read();
        let last = reading.value(0).unwrap();
        slots.vacate(0);
        slots.reclaim();
        assert_eq!(last.0, 19);
        assert!(reading.value(0).is_none());
        drop(reading);
        slots.reclaim();
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
