//! Per-thread blocks of an owner, dropped when the thread or the owner ends.
//!
//! The crate `thread_local` keeps a thread's value for the next thread instead, and panics where a
//! thread that ends asks for one.

#![expect(
    unsafe_code,
    reason = "threads follow a pointer that their owner frees when nobody can have it"
)]

use core::cell::{Cell, RefCell, UnsafeCell};
use core::mem;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use randflake_core::internal::Block;
use randflake_lease::unstable::ForkGuard;

/// State when a block was taken. Its ids may be handed out while this is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number of leases from which issuing was stopped.
    pub(super) closed: u64,
    /// Generation number of the machine.
    pub(super) generation: u64,
}

/// The block of one thread.
#[derive(Debug)]
pub(super) struct ThreadBlock {
    pub(super) block: Block<Box<[u64]>>,
    pub(super) stamp: Stamp,
    /// Number of ids that were already counted for metrics.
    reported: u64,
}

impl ThreadBlock {
    pub(super) fn new() -> Self {
        Self {
            block: Block::new(Box::default()),
            stamp: Stamp::default(),
            reported: 0,
        }
    }

    /// Number of ids handed out since the last call.
    pub(super) fn handed_out_since(&mut self) -> u64 {
        let all = self.block.handed_out();
        all - mem::replace(&mut self.reported, all)
    }
}

/// The per-thread values of one owner.
#[derive(Debug)]
pub(super) struct PerThread {
    /// Number of the owner, never reused.
    // Not its address, which the next handle may have: `LAST` would name a value that is freed.
    number: u64,
    values: Arc<Values>,
}

/// The values of all threads, each from `Box::leak` and listed once.
#[derive(Debug)]
struct Values {
    all: Mutex<Vec<BlockPointer>>,
    fork_guard: ForkGuard,
}

/// A thread's value of an owner, aligned to its own cache lines, since each thread writes its own
/// all the time. Processors fetch lines in pairs, hence 128 bytes.
#[derive(Debug)]
#[repr(align(128))]
struct OwnedBlock {
    /// Number of the owner; [`IN_USE`] while the thread uses the value.
    // In one word: the check that nobody uses it is also the check that it is this owner's.
    tag: Cell<u64>,
    block: UnsafeCell<ThreadBlock>,
}

/// Number of no owner.
const IN_USE: u64 = 0;

type BlockPointer = NonNull<OwnedBlock>;

// SAFETY: it owns the values as a `Vec<Box<OwnedBlock>>` would, which is `Send`; the lock guards
// the list. What it points to is borrowed by one thread only, its own, and dropped when that cannot
// be.
unsafe impl Send for Values {}
// SAFETY: as above.
unsafe impl Sync for Values {}

impl PerThread {
    pub(super) fn new() -> Self {
        // From 1 on: a thread's `LAST` begins with 0, which is nobody's, as is `IN_USE`.
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            values: Arc::new(Values {
                all: Mutex::default(),
                fork_guard: ForkGuard::new(),
            }),
        }
    }

    /// Uses the value of this thread. `None` if it has none, and in a signal handler that
    /// interrupts this function.
    #[inline]
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut ThreadBlock) -> T) -> Option<T> {
        let value = if LAST_OWNER.get() == self.number {
            // A handler in between may have made this another owner's: then the tag is that one's.
            LAST_VALUE.get()
        } else {
            find(self.number)?
        };
        // SAFETY: the number says that `insert` made it, of this owner and for this thread. It is
        // freed when the owner ends, which this borrow forbids, or when the thread ends, which is
        // not while it is here, and takes it out of `LAST_VALUE` and `ALL`.
        let value = unsafe { value.as_ref() };
        let _use = Use::begin(&value.tag, self.number)?;
        // SAFETY: no other thread has it, and on this one everything else finds the tag and goes
        // away.
        Some(work(unsafe { &mut *value.block.get() }))
    }

    /// Whether this thread has a value.
    pub(super) fn is_there(&self) -> bool {
        LAST_OWNER.get() == self.number || find(self.number).is_some()
    }

    /// Inserts the value of this thread, which has none; does nothing while the thread ends, or in
    /// a signal handler that interrupts this function.
    #[cold]
    pub(super) fn insert(&self, value: ThreadBlock) {
        // An error is a thread that ends.
        let _ended = ALL.try_with(|ValuesOfThread(all)| {
            // Before the lock, which the interrupted thread may have.
            let Ok(mut all) = all.try_borrow_mut() else {
                return;
            };
            let value = NonNull::from(Box::leak(Box::new(OwnedBlock {
                tag: Cell::new(self.number),
                block: UnsafeCell::new(value),
            })));
            self.values.all().push(value);
            // Values of owners that have ended are freed already. Taken out here, a list is as long
            // as owners live.
            all.retain(|(_, _, values)| values.strong_count() > 0);
            all.push((self.number, value, Arc::downgrade(&self.values)));
        });
    }
}

/// The use of a value, until it is dropped.
struct Use<'a>(&'a Cell<u64>, u64);

impl<'a> Use<'a> {
    #[inline]
    fn begin(tag: &'a Cell<u64>, owner: u64) -> Option<Self> {
        if tag.get() != owner {
            return None;
        }
        tag.set(IN_USE);
        // A signal handler sees the tag before anything that is done with the value.
        compiler_fence(Ordering::SeqCst);
        Some(Self(tag, owner))
    }
}

impl Drop for Use<'_> {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.set(self.1);
    }
}

impl Values {
    fn all(&self) -> MutexGuard<'_, Vec<BlockPointer>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and frees the value of a thread that ends.
    fn remove(&self, value: BlockPointer) {
        // In a forked child the lock may be that of a thread which is not there.
        if self.fork_guard.is_in_child() {
            return;
        }
        let mut all = self.all();
        if let Some(index) = all.iter().position(|&one| one == value) {
            let value = all.swap_remove(index);
            drop(all);
            // SAFETY: it came from `Box::leak`, and was in the list, so nobody has freed it.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
    }
}

/// The owner has ended, and every thread that was removing a value from it.
impl Drop for Values {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        for value in all.drain(..) {
            // SAFETY: as in `remove`; and no thread has the owner, by which it would find this.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
    }
}

thread_local! {
    /// The value found last, and the number of its owner, 0 without one. They need no destructor,
    /// so the lookup is as cheap as possible.
    static LAST_OWNER: Cell<u64> = const { Cell::new(0) };
    static LAST_VALUE: Cell<BlockPointer> = const { Cell::new(NonNull::dangling()) };
    static ALL: ValuesOfThread = const { ValuesOfThread(RefCell::new(Vec::new())) };
}

/// The values of one thread, with the number of the owner of each.
// `Weak`: a thread that lives on does not keep the blocks of a handle that has ended.
struct ValuesOfThread(RefCell<Vec<(u64, BlockPointer, Weak<Values>)>>);

#[cold]
fn find(number: u64) -> Option<BlockPointer> {
    // `None` while the thread ends: its local is gone, and its calls take single ids.
    let value = ALL.try_with(|all| all.find(number)).ok()??;
    LAST_OWNER.set(0);
    compiler_fence(Ordering::SeqCst);
    LAST_VALUE.set(value);
    compiler_fence(Ordering::SeqCst);
    LAST_OWNER.set(number);
    compiler_fence(Ordering::SeqCst);
    // A handler in between may have set both for another owner, whose value may be freed before
    // this one.
    if LAST_VALUE.get() != value {
        LAST_OWNER.set(0);
    }
    Some(value)
}

impl ValuesOfThread {
    fn find(&self, number: u64) -> Option<BlockPointer> {
        // Borrowed only if a signal handler interrupts `insert`; the handler gets no block.
        let all = self.0.try_borrow().ok()?;
        let &(_, value, _) = all.iter().find(|(owner, ..)| *owner == number)?;
        Some(value)
    }
}

/// Frees the values of a thread that ends.
impl Drop for ValuesOfThread {
    fn drop(&mut self) {
        // First: a destructor of another local that generates an id must not find what is being
        // freed.
        LAST_OWNER.set(0);
        for (_, value, values) in self.0.take() {
            if let Some(values) = values.upgrade() {
                values.remove(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    const ROUNDS: u64 = if cfg!(miri) { 5 } else { 200 };

    /// Values that somebody has not freed.
    fn live(owner: &PerThread) -> usize {
        owner.values.all().len()
    }

    fn hand_out(owner: &PerThread, count: u64) {
        if !owner.is_there() {
            owner.insert(ThreadBlock::new());
        }
        owner.with(|block| block.stamp.closed += count).unwrap();
    }

    fn handed_out(owner: &PerThread) -> u64 {
        owner.with(|block| block.stamp.closed).unwrap()
    }

    #[test]
    fn value_lives_until_its_thread_or_owner_ends() {
        let owners = [PerThread::new(), PerThread::new()];
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            for n in 0..3 {
                let (owners, barrier) = (&owners, &barrier);
                scope.spawn(move || {
                    for _ in 0..10 {
                        hand_out(&owners[0], n);
                        hand_out(&owners[1], 2 * n);
                    }
                    barrier.wait();
                    barrier.wait();
                    assert_eq!(owners.each_ref().map(handed_out), [10 * n, 20 * n]);
                });
            }
            barrier.wait();
            assert_eq!(owners.each_ref().map(live), [3, 3]);
            barrier.wait();
        });
        assert!(!owners[0].is_there());
        // A scope ends before its threads' locals do.
        while owners.iter().any(|owner| live(owner) > 0) {
            thread::yield_now();
        }
    }

    #[test]
    fn values_of_ended_owners_are_never_found() {
        for n in 0..ROUNDS {
            let owner = PerThread::new();
            assert!(!owner.is_there());
            hand_out(&owner, n);
            assert_eq!(handed_out(&owner), n);
        }
        let listed = ALL.with(|all| all.0.borrow().len());
        assert!(listed <= 2, "{listed} of owners that have ended");
    }

    /// As the handler of a signal finds it that interrupts its thread there.
    #[test]
    fn lookup_during_an_insert_finds_nothing() {
        let owner = PerThread::new();
        ALL.with(|all| {
            let _inserting = all.0.borrow_mut();
            owner.insert(ThreadBlock::new());
            assert!(!owner.is_there());
        });
        assert_eq!(live(&owner), 0);
        hand_out(&owner, 1);
        assert_eq!((handed_out(&owner), live(&owner)), (1, 1));
    }

    /// As the handler of a signal finds it that interrupts its thread there, and when it has used
    /// another owner's value.
    #[test]
    fn value_has_one_user_and_one_owner() {
        let owners = [PerThread::new(), PerThread::new()];
        for owner in &owners {
            hand_out(owner, 1);
        }
        owners[0].with(|_| {
            assert_eq!(owners[0].with(|_| ()), None);
            hand_out(&owners[1], 1);
        });
        // Between the two that say which value was found last.
        LAST_OWNER.set(owners[0].number);
        assert_eq!(owners[0].with(|_| ()), None);
        LAST_OWNER.set(owners[1].number);
        assert_eq!(owners.each_ref().map(handed_out), [1, 2]);
    }

    /// Whichever of the locals of a thread ends first.
    #[test]
    fn a_thread_that_ends_has_no_value_any_more() {
        struct AtEnd(Cell<Option<Arc<PerThread>>>);
        impl Drop for AtEnd {
            fn drop(&mut self) {
                let owner = self.0.take().unwrap();
                let is_freed = live(&owner) == 0;
                // Before it is used: what is freed may look as it did.
                assert!(!is_freed || LAST_OWNER.get() == 0, "it is freed");
                assert_eq!(owner.with(|_| ()).is_none(), is_freed);
            }
        }
        thread_local! {
            static BEFORE: AtEnd = const { AtEnd(Cell::new(None)) };
            static AFTER: AtEnd = const { AtEnd(Cell::new(None)) };
        }
        let owner = Arc::new(PerThread::new());
        let ends = Arc::clone(&owner);
        let thread = thread::spawn(move || {
            BEFORE.with(|end| end.0.set(Some(Arc::clone(&ends))));
            hand_out(&ends, 1);
            assert_eq!(handed_out(&ends), 1);
            AFTER.with(|end| end.0.set(Some(ends)));
        });
        // A panic of a destructor aborts.
        thread.join().unwrap();
        assert_eq!(live(&owner), 0);
    }

    #[test]
    fn last_value_is_found_without_a_search() {
        let owners = [PerThread::new(), PerThread::new()];
        for owner in owners.iter().chain(&owners) {
            hand_out(owner, 1);
            assert_eq!(LAST_OWNER.get(), owner.number);
        }
    }

    #[test]
    fn owners_and_threads_may_end_at_once() {
        for _ in 0..ROUNDS {
            let owner = Arc::new(PerThread::new());
            let threads: Vec<_> = (0..3)
                .map(|n| {
                    let owner = Arc::clone(&owner);
                    thread::spawn(move || hand_out(&owner, n))
                })
                .collect();
            drop(owner);
            for thread in threads {
                thread.join().unwrap();
            }
        }
    }
}
