//! Linux: a page that the kernel empties in a forked child, so that looking costs one load instead
//! of a system call.

use core::sync::atomic::{AtomicU32, Ordering};

/// In place of the page, where there is none: always 0.
static NO_PAGE: AtomicU32 = AtomicU32::new(0);

/// Detects that this process is a forked child of the one that created the guard.
#[derive(Debug)]
pub struct ForkGuard {
    /// Word that holds the generation of the current process, and 0 in a child that has none yet.
    /// It is 0 everywhere on kernels before 4.14 and under emulators, which cannot clear pages on
    /// fork.
    page: &'static AtomicU32,
    /// Generation of the process that created the guard, never 0.
    generation: u32,
    /// Process id of the creator, where the page is not available.
    process_id: Option<u32>,
}

impl Default for ForkGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl ForkGuard {
    /// A guard of this process.
    #[must_use]
    pub fn new() -> Self {
        Self::of(wiped_page::shared())
    }

    fn of(page: &'static AtomicU32) -> Self {
        // A child inherits its ancestors' count, so its own number differs from all of theirs.
        static GENERATIONS: AtomicU32 = AtomicU32::new(0);

        if core::ptr::eq(page, &raw const NO_PAGE) {
            return Self {
                page,
                generation: 1,
                process_id: Some(std::process::id()),
            };
        }
        let fresh = GENERATIONS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let generation = match page.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => fresh,
            Err(present) => present,
        };
        Self {
            page,
            generation,
            process_id: None,
        }
    }

    /// Whether a check costs only a load.
    #[must_use]
    pub fn is_cheap(&self) -> bool {
        self.process_id.is_none()
    }

    /// Whether this process made the guard; `false` where only a system call knows.
    #[inline]
    #[must_use]
    pub fn is_surely_parent(&self) -> bool {
        self.page.load(Ordering::Relaxed) == self.generation
    }

    /// Whether this process is a forked child of the one that made the guard.
    #[inline]
    #[must_use]
    pub fn is_in_child(&self) -> bool {
        !self.is_surely_parent() && self.process_id != Some(std::process::id())
    }
}

#[expect(
    unsafe_code,
    reason = "mapping a page and marking it is the kernel's interface"
)]
mod wiped_page {
    use core::ptr;
    use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

    use super::NO_PAGE;

    const PAGE_SIZE: usize = 4096;

    /// The page of this process, made at the first call; `NO_PAGE` if the kernel has no such.
    pub(super) fn shared() -> &'static AtomicU32 {
        static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
        // Nobody waits for another thread, as with a lock: in a child that was forked meanwhile,
        // that thread does not exist.
        let mut page = PAGE.load(Ordering::Acquire);
        if page.is_null() {
            let made = ptr::from_ref(map().unwrap_or(&NO_PAGE)).cast_mut();
            // Of several first calls one gives its page to all; the others' stay unused.
            let first = PAGE.compare_exchange(page, made, Ordering::AcqRel, Ordering::Acquire);
            page = first.map_or_else(|other| other, |_| made);
        }
        // SAFETY: it is `NO_PAGE` or what `map` returned, both references for ever.
        unsafe { &*page }
    }

    /// A page of zeros that is one again in every forked child; `None` if the kernel has no such.
    fn map() -> Option<&'static AtomicU32> {
        // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing.
        let page = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                PAGE_SIZE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .ok()?;
        // SAFETY: the range is the mapping just made; the advice changes nothing in this process.
        unsafe { madvise(page, PAGE_SIZE, Advice::LinuxWipeOnFork) }.ok()?;
        // QEMU, where it runs another processor's programs, accepts any advice and ignores it. The
        // kernel refuses this one, which is for files. SAFETY: the range is the mapping just made,
        // in which nothing is yet.
        if unsafe { madvise(page, PAGE_SIZE, Advice::LinuxRemove) }.is_ok() {
            return None;
        }
        // SAFETY: the mapping is aligned to a page, zeroed, readable and writable, never unmapped,
        // and nothing but atomic operations ever reaches it.
        Some(unsafe { AtomicU32::from_ptr(page.cast()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_guards_have_one_page() {
        let (first, second) = (ForkGuard::new(), ForkGuard::new());
        assert!(core::ptr::eq(first.page, second.page));
        assert!(first.is_cheap() && first.is_surely_parent() && !first.is_in_child());
    }

    #[test]
    fn where_there_is_no_page_only_the_process_id_tells() {
        let guard = ForkGuard::of(&NO_PAGE);
        assert!(!guard.is_cheap() && !guard.is_surely_parent() && !guard.is_in_child());
        let process_id = Some(std::process::id() + 1);
        assert!(
            ForkGuard {
                process_id,
                ..guard
            }
            .is_in_child()
        );
    }
}
