//! A block of ids for each thread of a handle.

use core::cell::RefCell;
use core::mem;

use randflake_core::Id;
use randflake_core::internal::Block;

use super::per_thread::PerThread;

/// As many ids as one bulk encryption gains from; 2 KiB.
const LARGEST_BLOCK: usize = 256;

/// The blocks of a handle's threads. They end with the handle, and each with its thread.
#[derive(Debug)]
pub(super) struct ThreadBlocks(PerThread);

/// What must be so when an id of a block is handed out, as it was when the block was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// How often leases of the handle were sealed.
    pub(super) seals: u64,
    /// The number of the machine's generation.
    pub(super) generation: u64,
}

/// A thread's block, with no neighbours in its cache lines: each thread writes its own all the time. Processors fetch
/// lines in pairs of 128 bytes.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct ThreadBlock {
    pub(super) block: Block<Box<[u64]>>,
    pub(super) stamp: Stamp,
    /// How many of its ids were handed out when somebody asked.
    reported: u64,
}

impl ThreadBlocks {
    pub(super) fn new() -> Self {
        Self(PerThread::new())
    }

    /// The next id of this thread's block, if it has one that may be handed out.
    #[inline]
    pub(super) fn take(&self, now_ns: u64, is_valid: impl FnOnce(Stamp) -> bool) -> Option<Id> {
        let mut thread_block = borrow(self.0.get()?)?;
        let stamp = thread_block.stamp;
        thread_block.block.take(now_ns, || is_valid(stamp))
    }

    /// Takes another block for this thread, in a tick.
    #[inline]
    pub(super) fn refill<T>(
        &self,
        tick: u64,
        refill: impl FnOnce(&mut ThreadBlock) -> Option<T>,
    ) -> Option<T> {
        let thread_block = if let Some(thread_block) = self.0.get() {
            thread_block
        } else {
            self.0.insert(ThreadBlock::new());
            self.0.get()?
        };
        let mut thread_block = borrow(thread_block)?;
        // Whoever wants one id in a tick needs no memory.
        if thread_block.block.capacity() == 0 && thread_block.block.wanted(tick) > 1 {
            thread_block.block.grow(vec![0; LARGEST_BLOCK].into());
        }
        refill(&mut thread_block)
    }
}

/// Not twice: the handler of a signal that interrupts its thread here has no block.
#[inline]
fn borrow(thread_block: &RefCell<ThreadBlock>) -> Option<core::cell::RefMut<'_, ThreadBlock>> {
    thread_block.try_borrow_mut().ok()
}

impl ThreadBlock {
    pub(super) fn new() -> Self {
        Self {
            block: Block::new(Box::default()),
            stamp: Stamp::default(),
            reported: 0,
        }
    }

    /// How many ids were handed out since this was asked.
    pub(super) fn handed_out_since(&mut self) -> u64 {
        let all = self.block.handed_out();
        all - mem::replace(&mut self.reported, all)
    }
}
