//! Linux: a page that the kernel empties in a forked child, so that looking costs one load instead of
//! a system call.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// Detects that this process is a forked child of the one that created the guard.
#[derive(Debug)]
pub(crate) struct ForkGuard {
    /// Word that holds the generation of the current process, and 0 in a child that has none yet. It is 0
    /// everywhere on kernels before 4.14 and under emulators, which cannot clear pages on fork.
    page: &'static AtomicU32,
    /// Generation of the process that created the guard, never 0.
    generation: u32,
    /// Process id of the creator, where the page is not available.
    process_id: Option<u32>,
}

impl ForkGuard {
    pub(crate) fn new() -> Self {
        static PAGE: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
        static NO_PAGE: AtomicU32 = AtomicU32::new(0);
        // A child inherits its ancestors' count, so its own number differs from all of theirs.
        static GENERATIONS: AtomicU32 = AtomicU32::new(0);

        let Some(page) = *PAGE.get_or_init(wiped_page::map) else {
            return Self {
                page: &NO_PAGE,
                generation: 1,
                process_id: Some(std::process::id()),
            };
        };
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
    pub(crate) fn is_cheap(&self) -> bool {
        self.process_id.is_none()
    }

    /// Whether this process made the guard; `false` where only a system call knows.
    #[inline]
    pub(crate) fn is_surely_parent(&self) -> bool {
        self.page.load(Ordering::Relaxed) == self.generation
    }

    /// Whether this process is a forked child of the one that made the guard.
    #[inline]
    pub(crate) fn is_in_child(&self) -> bool {
        !self.is_surely_parent() && self.process_id != Some(std::process::id())
    }
}

#[expect(
    unsafe_code,
    reason = "mapping a page and marking it is the kernel's interface"
)]
mod wiped_page {
    use core::ptr;
    use core::sync::atomic::AtomicU32;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

    const PAGE_SIZE: usize = 4096;

    /// A page of zeros that is one again in every forked child; `None` if the kernel has no such.
    pub(super) fn map() -> Option<&'static AtomicU32> {
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
        // QEMU, where it runs another processor's programs, accepts any advice and ignores it. The kernel refuses this
        // one, which is for files.
        // SAFETY: the range is the mapping just made, in which nothing is yet.
        if unsafe { madvise(page, PAGE_SIZE, Advice::LinuxRemove) }.is_ok() {
            return None;
        }
        // SAFETY: the mapping is aligned to a page, zeroed, readable and writable, never unmapped,
        // and nothing but atomic operations ever reaches it.
        Some(unsafe { AtomicU32::from_ptr(page.cast()) })
    }
}
