//! State that the threads of [`Segments`](super::Segments) share with their keeper.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Instant;

use randflake_core::internal::{PutError, SegmentBuffer};
use randflake_core::segment::Segment;
use randflake_core::{Id, Permutation};

use super::{SegmentError, SegmentsStatus};
use crate::fork_guard::ForkGuard;
use crate::vocabulary::{CounterError, CounterErrorKind};

/// A store that has not answered for this long is called away.
const SLOW: Duration = Duration::from_secs(1);

pub(super) struct SharedSegments<P> {
    buffer: SegmentBuffer<AtomicU64>,
    pub(super) permutation: P,
    refill_at_percent: u32,
    /// The keeper is wanted when no more than this is left.
    refill_at: AtomicU64,
    /// Somebody has woken the keeper since it looked last.
    woken: AtomicBool,
    keeper: OnceLock<Thread>,
    fork_guard: ForkGuard,
    phase: Mutex<SegmentsPhase>,
    changed: Condvar,
}

/// How far the keeper is.
#[derive(Debug)]
pub(super) struct SegmentsPhase {
    ended: bool,
    /// How many segments it has put.
    pub(super) puts: u64,
    length: u32,
    /// When the store was first asked for the segment that is not there yet.
    asked: Option<Instant>,
    /// What it answered, if that was no segment.
    trouble: Option<Arc<CounterError>>,
}

impl SegmentsPhase {
    /// How long the store has been away: since it was asked, if it has failed or is slow.
    fn away_for(&self) -> Option<Duration> {
        let waited = self.asked?.elapsed();
        (self.trouble.is_some() || waited >= SLOW).then_some(waited)
    }
}

impl<P: Permutation> SharedSegments<P> {
    pub(super) fn new(first: Segment, permutation: P, refill_at_percent: u32, length: u32) -> Self {
        let shared = Self {
            buffer: SegmentBuffer::new(first),
            permutation,
            refill_at_percent,
            refill_at: AtomicU64::new(0),
            woken: AtomicBool::new(false),
            keeper: OnceLock::new(),
            fork_guard: ForkGuard::new(),
            phase: Mutex::new(SegmentsPhase {
                ended: false,
                puts: 0,
                length,
                asked: None,
                trouble: None,
            }),
            changed: Condvar::new(),
        };
        shared.refill_after(first);
        shared
    }

    #[inline]
    pub(super) fn next(&self) -> Result<Id, SegmentError> {
        self.check_process()?;
        let Some(number) = self.buffer.take(1) else {
            return Err(self.refusal());
        };
        self.wake_if_low();
        Ok(Id::from_u64(self.permutation.permute(number.first())))
    }

    pub(super) fn fill(&self, ids: &mut [Id]) -> Result<usize, SegmentError> {
        self.check_process()?;
        let filled = self.buffer.fill(ids, &self.permutation);
        if filled == 0 && !ids.is_empty() {
            return Err(self.refusal());
        }
        self.wake_if_low();
        Ok(filled)
    }

    #[inline]
    fn check_process(&self) -> Result<(), SegmentError> {
        if self.fork_guard.is_in_child() {
            return Err(SegmentError::InForkedChild);
        }
        Ok(())
    }

    #[inline]
    fn wake_if_low(&self) {
        if self.is_low() && !self.woken.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Why there is no number. Who gets to know it has woken the keeper.
    #[cold]
    fn refusal(&self) -> SegmentError {
        self.wake();
        let phase = self.phase();
        let Some(away_for) = phase.away_for() else {
            return SegmentError::Refilling;
        };
        let since_ms = u64::try_from(away_for.as_millis()).unwrap_or(u64::MAX);
        match phase.trouble.as_ref().map(|error| error.kind()) {
            None | Some(CounterErrorKind::Unavailable) => SegmentError::StoreAway { since_ms },
            Some(_) => SegmentError::StoreRefuses { since_ms },
        }
    }

    pub(super) fn status(&self) -> SegmentsStatus {
        let phase = self.phase();
        SegmentsStatus {
            remaining: self.buffer.remaining(),
            length: phase.length,
            away_for: phase.away_for(),
            last_error: phase.trouble.clone(),
        }
    }

    /// Waits until more segments were put than these, or the time is up.
    pub(super) fn wait_for_put(&self, puts: u64, limit: Duration) {
        let unchanged = |phase: &mut SegmentsPhase| phase.puts == puts;
        let _timeout = self
            .changed
            .wait_timeout_while(self.phase(), limit, unchanged)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// Operations of the keeper.
impl<P> SharedSegments<P> {
    pub(super) fn is_low(&self) -> bool {
        self.buffer.remaining() <= self.refill_at.load(Ordering::Relaxed)
    }

    /// Forgets that it was woken; to be called before it looks.
    pub(super) fn looks(&self) {
        self.woken.store(false, Ordering::SeqCst);
    }

    pub(super) fn taken(&self) -> u64 {
        self.buffer.taken()
    }

    pub(super) fn put(&self, segment: Segment, length: u32) -> Result<(), PutError> {
        self.buffer.put(segment)?;
        self.refill_after(segment);
        let mut phase = self.phase();
        phase.puts = phase.puts.wrapping_add(1);
        phase.length = length;
        phase.asked = None;
        phase.trouble = None;
        drop(phase);
        self.changed.notify_all();
        Ok(())
    }

    fn refill_after(&self, segment: Segment) {
        let refill_at = u128::from(segment.len()) * u128::from(self.refill_at_percent) / 100;
        let refill_at = u64::try_from(refill_at).unwrap_or(u64::MAX);
        self.refill_at.store(refill_at, Ordering::Relaxed);
    }

    /// The store is being asked.
    pub(super) fn asks(&self) {
        self.phase().asked.get_or_insert_with(Instant::now);
    }

    /// Notes how the last call of the store ended.
    pub(super) fn note(&self, error: Option<CounterError>) {
        self.phase().trouble = error.map(Arc::new);
    }

    /// Takes all numbers that are left, so that nobody gets them.
    pub(super) fn discard(&self) {
        while self.buffer.take(u64::MAX).is_some() {}
    }

    pub(super) fn has_ended(&self) -> bool {
        self.phase().ended
    }

    pub(super) fn is_kept_by(&self, thread: &Thread) {
        self.keeper.get_or_init(|| thread.clone());
    }

    #[cold]
    fn wake(&self) {
        self.woken.store(true, Ordering::SeqCst);
        if let Some(keeper) = self.keeper.get() {
            keeper.unpark();
        }
    }

    /// Lets the keeper end; it may be waiting for the store, and nobody waits for it.
    pub(super) fn end(&self) {
        // In a forked child the keeper is not there, and the lock may be another thread's for ever.
        if !self.fork_guard.is_in_child() {
            self.phase().ended = true;
            self.wake();
        }
    }

    pub(super) fn phase(&self) -> MutexGuard<'_, SegmentsPhase> {
        // No code panics while it holds the lock; if it did, the phase would still be whole.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
