//! Thread blocks of a handle: each thread takes ids from an encrypted block of its own.

use randflake_core::Id;

use super::per_thread::{PerThread, Stamp, ThreadBlock};

/// Largest block: as many ids as one bulk encryption gains from; 2 KiB.
const LARGEST_BLOCK: usize = 256;

/// The blocks of all threads of a handle. They are freed with the handle, or each with its thread.
#[derive(Debug)]
pub(super) struct ThreadBlocks(PerThread);

impl ThreadBlocks {
    pub(super) fn new() -> Self {
        Self(PerThread::new())
    }

    /// Takes the next id of the block of this thread, if it may be handed out.
    #[inline]
    pub(super) fn take(&self, now_ns: u64, is_valid: impl FnOnce(Stamp) -> bool) -> Option<Id> {
        let take = |thread_block: &mut ThreadBlock| {
            let stamp = thread_block.stamp;
            thread_block.block.take(now_ns, || is_valid(stamp))
        };
        self.0.with(take)?
    }

    /// Refills the block of this thread within a tick.
    #[inline]
    pub(super) fn refill<T>(
        &self,
        tick: u64,
        refill: impl FnOnce(&mut ThreadBlock) -> Option<T>,
    ) -> Option<T> {
        if !self.0.is_there() {
            self.0.insert(ThreadBlock::new());
        }
        // `None` in a thread that ends, and in a signal handler that interrupts this function or
        // `take`: the caller then takes a single id from the sequencer.
        self.0.with(|thread_block| {
            // A thread that takes one id per tick needs no block: memory is allocated with the
            // second.
            if thread_block.block.capacity() == 0 && thread_block.block.wanted(tick) > 1 {
                thread_block.block.grow(vec![0; LARGEST_BLOCK].into());
            }
            refill(thread_block)
        })?
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU64;

    use randflake_core::internal::BlockBudget;
    use randflake_core::{Codec, Layout, Lease, Randflake, Sequencer, Sparx64};

    use super::*;

    const TICK: u64 = 100;

    #[test]
    fn block_is_allocated_with_the_second_id_of_a_tick() {
        let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
        let lease = Lease::new(Randflake, 42, TICK, TICK + 1).unwrap();
        let sequencer = Sequencer::<_, AtomicU64>::new(lease).unwrap();
        let budget = BlockBudget::<AtomicU64>::new();
        let now_ns = Randflake::SPEC.unix_ms(TICK) * 1_000_000;
        let blocks = ThreadBlocks::new();
        let refill = || {
            blocks.refill(TICK, |of_thread| {
                let block = &mut of_thread.block;
                block.refill(&sequencer, &budget, &codec, now_ns).ok()?;
                let (capacity, left) = (block.capacity(), block.left());
                Some((capacity, left, of_thread.handed_out_since()))
            })
        };
        assert_eq!(refill(), Some((0, 0, 1)));
        assert_eq!(refill(), Some((LARGEST_BLOCK, 1, 1)));
        assert!(blocks.take(now_ns, |_| true).is_some());
        assert_eq!(refill(), Some((LARGEST_BLOCK, 3, 2)));
    }
}
