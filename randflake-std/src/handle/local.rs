//! Ids ahead of their use: a block for one thread.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::{AnyLayout, Id, Randflake};

use super::Handle;
use super::pulse::{PERIOD, Pulse};
use crate::error::GenerateError;

const SMALLEST_BLOCK: usize = 16;
/// As many ids as one bulk encryption gains from; 8 KiB.
const LARGEST_BLOCK: usize = 1024;

/// Issues ids to one thread from a block that it has taken and encrypted in advance, for a fraction of
/// what a single id costs: see [`Handle::local`].
///
/// It is an iterator without end over the results of [`next_id`](Local::next_id).
pub struct Local<L: AnyLayout = Randflake> {
    handle: Handle<L>,
    pulse: Arc<Pulse>,
    /// The block; those before `next` are used.
    block: Vec<Id>,
    next: usize,
    /// The block is dropped when the pulse is here.
    expires: u64,
    /// The generation in which it was taken.
    generation: u64,
    /// How many ids the next block shall have.
    wanted: usize,
    /// The oldest that a block gets, in pulses.
    max_age: u64,
}

impl<L: AnyLayout> Local<L> {
    pub(super) fn new(handle: Handle<L>, pulse: Arc<Pulse>, max_age: Duration) -> Self {
        Self {
            handle,
            pulse,
            block: Vec::new(),
            next: 0,
            expires: 0,
            generation: 0,
            wanted: SMALLEST_BLOCK,
            max_age: pulses(max_age),
        }
    }

    /// The next id.
    ///
    /// Its time is that of its block: at most the age limit before now. A block is dropped when it
    /// reaches that age, at the end of its lease, when the handle is closed, and in a forked child;
    /// its unused ids are never issued. What drops it is a thread that counts tenths of a second, so
    /// an id can be older by as long as the system lets that thread wait.
    ///
    /// # Errors
    ///
    /// As for [`Handle::generate`].
    #[inline]
    pub fn next_id(&mut self) -> Result<Id, GenerateError> {
        if let Some(&id) = self.block.get(self.next)
            && self.pulse.count() < self.expires
            && !self.handle.is_in_child()
            && self.handle.generation() == self.generation
        {
            self.next += 1;
            return Ok(id);
        }
        self.refill()
    }

    /// The next id, waiting for at most `limit` when there is none at once.
    ///
    /// # Errors
    ///
    /// As for [`Handle::generate_wait`].
    pub fn next_id_wait(&mut self, limit: Duration) -> Result<Id, GenerateError> {
        match self.next_id() {
            Ok(id) => Ok(id),
            Err(_) => self.handle.clone().retry(limit, || self.next_id()),
        }
    }

    /// Takes another block, and gives its first id.
    #[cold]
    fn refill(&mut self) -> Result<Id, GenerateError> {
        // A thread that needs few ids shall not take the sequences of those that need many.
        let used = self.next;
        if used == self.block.len() {
            self.wanted = (self.wanted * 2).min(LARGEST_BLOCK);
        } else if used < self.block.len() / 2 {
            self.wanted = (self.wanted / 2).max(SMALLEST_BLOCK);
        }
        // Read before the ids are taken, so that they are not older than the count says.
        let now = self.pulse.count();
        self.generation = self.handle.generation();
        self.next = 0;
        self.block.resize(self.wanted, Id::from_u64(0));
        let filled = self
            .handle
            .0
            .0
            .fill(&mut self.block)
            .inspect_err(|_| self.block.clear())?;
        self.block.truncate(filled.count);
        self.expires = now.saturating_add(self.max_age.min(pulses(filled.remaining)));
        self.pulse.beat_until(self.expires);
        self.next = 1;
        Ok(self.block[0])
    }
}

/// How many pulses are over after a time, at the latest.
fn pulses(time: Duration) -> u64 {
    u64::try_from(time.as_nanos() / PERIOD.as_nanos()).unwrap_or(u64::MAX)
}

impl<L: AnyLayout> Iterator for Local<L> {
    type Item = Result<Id, GenerateError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_id())
    }
}

/// Shows how much of the block is left, never its ids.
impl<L: AnyLayout> Debug for Local<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("handle", &self.handle)
            .field("left", &self.block.len().saturating_sub(self.next))
            .finish_non_exhaustive()
    }
}
