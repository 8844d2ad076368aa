//! State that the threads of [`Segments`](super::Segments) share with their keeper.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Instant;

use randflake_core::internal::{PutError, SegmentBuffer};
use randflake_core::segment::Segment;
use randflake_core::{Id, Permutation};
use randflake_lease::unstable::ForkGuard;
use randflake_lease::unstable::rules::counter::Reservation;
use randflake_lease::{CounterError, CounterErrorKind, CounterTerms, DatedNumbers};

use super::period_end::{PeriodEnd, Sent};
use super::{SegmentError, SegmentsStatus};

/// A store that has not answered for this long is called away.
const SLOW: Duration = Duration::from_secs(1);

pub(super) struct SharedSegments<P> {
    buffer: SegmentBuffer<AtomicU64>,
    /// In a box, as a cipher that moves leaves a copy of its round keys behind.
    pub(super) permutation: Box<P>,
    pub(super) terms: CounterTerms,
    /// First number of the latest segment.
    latest: AtomicU64,
    /// End of the period of all numbers in the buffer; `None` if they have no dates.
    period_end: Option<PeriodEnd>,
    refill_at_percent: u32,
    /// The keeper refills when no more numbers than this are left.
    refill_at: AtomicU64,
    /// Somebody has woken the keeper since it looked last.
    woken: AtomicBool,
    keeper: OnceLock<Thread>,
    fork_guard: ForkGuard,
    phase: Mutex<SegmentsPhase>,
    changed: Condvar,
}

/// State of the keeper, on whose changes threads wait.
#[derive(Debug)]
pub(super) struct SegmentsPhase {
    ended: bool,
    /// Number of segments put into the buffer since the first one.
    pub(super) puts: u64,
    length: u32,
    /// When the first request for the next segment began; `None` if no segment is missing.
    requested_at: Option<Instant>,
    /// Why the last call of the store failed, until one succeeds.
    last_error: Option<Arc<CounterError>>,
}

impl SegmentsPhase {
    /// How long the store has been away: since the request began, if it has failed or takes longer
    /// than [`SLOW`].
    fn away_for(&self) -> Option<Duration> {
        let waited = self.requested_at?.elapsed();
        (self.last_error.is_some() || waited >= SLOW).then_some(waited)
    }
}

impl<P: Permutation> SharedSegments<P> {
    /// `first` was asked for at `sent`.
    pub(super) fn new(
        first: Reservation,
        sent: &Sent,
        permutation: Box<P>,
        refill_at_percent: u32,
        length: u32,
    ) -> Self {
        let Reservation {
            segment,
            terms,
            lasts,
        } = first;
        let shared = Self {
            buffer: SegmentBuffer::new(segment),
            permutation,
            terms,
            latest: AtomicU64::new(segment.first()),
            period_end: lasts.map(|lasts| PeriodEnd::new(sent, lasts)),
            refill_at_percent,
            refill_at: AtomicU64::new(0),
            woken: AtomicBool::new(false),
            keeper: OnceLock::new(),
            fork_guard: ForkGuard::new(),
            phase: Mutex::new(SegmentsPhase {
                ended: false,
                puts: 0,
                length,
                requested_at: None,
                last_error: None,
            }),
            changed: Condvar::new(),
        };
        shared.refill_after(segment);
        shared
    }

    #[inline]
    pub(super) fn next(&self) -> Result<Id, SegmentError> {
        // Before a number is taken: a child has a copy of the buffer, and its parent issues the
        // same numbers.
        self.check_process()?;
        if self.is_period_over() {
            return Err(self.refusal());
        }
        let Some(number) = self.buffer.take(1) else {
            return Err(self.refusal());
        };
        // After the take, so that the call which takes the last number above the bound wakes the
        // keeper.
        self.wake_if_low();
        Ok(Id::from_u64(self.permutation.permute(number.first())))
    }

    pub(super) fn fill(&self, ids: &mut [Id]) -> Result<usize, SegmentError> {
        self.check_process()?;
        if self.is_period_over() && !ids.is_empty() {
            return Err(self.refusal());
        }
        let filled = self.buffer.fill(ids, &*self.permutation);
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
        // Relaxed: who sees an old value wakes the keeper once more than needed, or is followed by
        // a call that sees the new one. The last number of all goes through `refusal`, which always
        // wakes.
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
        match phase.last_error.as_ref().map(|error| error.kind()) {
            // Without an error the call is still pending, for a second or more.
            None | Some(CounterErrorKind::Unavailable) => SegmentError::StoreAway { since_ms },
            Some(_) => SegmentError::StoreRefuses { since_ms },
        }
    }

    pub(super) fn status(&self) -> SegmentsStatus {
        // Before the lock, which in a forked child may be another thread's for ever. The numbers
        // are the parent's.
        if self.check_process().is_err() {
            return SegmentsStatus {
                remaining: 0,
                length: 0,
                away_for: None,
                last_error: None,
            };
        }
        let phase = self.phase();
        SegmentsStatus {
            remaining: self.remaining(),
            length: phase.length,
            away_for: phase.away_for(),
            last_error: phase.last_error.clone(),
        }
    }

    /// Waits until more segments were put than these, or the time is up.
    pub(super) fn wait_for_put(&self, puts: u64, limit: Duration) {
        let _timeout = self
            .changed
            .wait_timeout_while(self.phase(), limit, |phase| phase.puts == puts)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// What the keeper calls.
impl<P> SharedSegments<P> {
    pub(super) fn is_low(&self) -> bool {
        // Relaxed: a bound of before makes a refill some numbers early or late, no more.
        self.remaining() <= self.refill_at.load(Ordering::Relaxed)
    }

    /// Numbers that can still be issued.
    pub(super) fn remaining(&self) -> u64 {
        if self.is_period_over() {
            return 0;
        }
        self.buffer.remaining()
    }

    /// Whether the numbers that are left are of a period that has ended.
    #[inline]
    pub(super) fn is_period_over(&self) -> bool {
        self.period_left().is_some_and(|left| left.is_zero())
    }

    /// How long until the period ends, if there is one.
    #[inline]
    pub(super) fn period_left(&self) -> Option<Duration> {
        self.period_end.as_ref().map(PeriodEnd::left)
    }

    /// Makes the next caller that finds few numbers wake the keeper again.
    pub(super) fn clear_woken(&self) {
        // Before the look, not after it: a caller that sets it again makes the keeper look once
        // more.
        self.woken.store(false, Ordering::SeqCst);
    }

    pub(super) fn taken(&self) -> u64 {
        self.buffer.taken()
    }

    /// Whether numbers are of a later period than those before.
    pub(super) fn is_of_later_period(&self, reserved: &Reservation) -> bool {
        let date = |dates: DatedNumbers, number| dates.date_and_count(number).0;
        let first = reserved.segment.first();
        self.terms.dates().is_some_and(|dates| {
            date(dates, first) > date(dates, self.latest.load(Ordering::Relaxed))
        })
    }

    /// Adds what was asked for at `sent`.
    pub(super) fn put(
        &self,
        reserved: Reservation,
        sent: &Sent,
        length: u32,
    ) -> Result<(), PutError> {
        let Reservation { segment, lasts, .. } = reserved;
        self.buffer.put(segment)?;
        self.latest.store(segment.first(), Ordering::Relaxed);
        // After it: the numbers before it are of the period that has ended until then.
        if let (Some(end), Some(lasts)) = (&self.period_end, lasts) {
            end.set(sent, lasts);
        }
        // After it: the other way round callers would compare what is left of the old one with the
        // new bound.
        self.refill_after(segment);
        let mut phase = self.phase();
        phase.puts = phase.puts.wrapping_add(1);
        phase.length = length;
        phase.requested_at = None;
        phase.last_error = None;
        // Those who are woken find the lock free.
        drop(phase);
        self.changed.notify_all();
        Ok(())
    }

    fn refill_after(&self, segment: Segment) {
        // Of the latest segment alone, as lengths change: at 100 % a refill begins when the one
        // before is used up.
        let refill_at = u128::from(segment.len()) * u128::from(self.refill_at_percent) / 100;
        let refill_at = u64::try_from(refill_at).unwrap_or(u64::MAX);
        self.refill_at.store(refill_at, Ordering::Relaxed);
    }

    /// Notes that a request for a segment begins.
    pub(super) fn begin_request(&self) {
        // From the first try on: an outage is as long as all of them.
        self.phase().requested_at.get_or_insert_with(Instant::now);
    }

    /// Notes how the last call of the store ended.
    pub(super) fn note(&self, error: Option<CounterError>) {
        self.phase().last_error = error.map(Arc::new);
    }

    /// Takes all numbers that are left, so that nobody gets them.
    pub(super) fn discard(&self) {
        // One `take` ends at the end of a segment, and there may be two.
        while self.buffer.take(u64::MAX).is_some() {}
    }

    pub(super) fn has_ended(&self) -> bool {
        self.phase().ended
    }

    pub(super) fn set_keeper(&self, thread: &Thread) {
        self.keeper.get_or_init(|| thread.clone());
    }

    #[cold]
    fn wake(&self) {
        // Until the keeper looks, others need not wake it: an unpark is a system call.
        self.woken.store(true, Ordering::SeqCst);
        if let Some(keeper) = self.keeper.get() {
            // If it is not parked now, its next park returns at once: no wake is lost.
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

#[cfg(test)]
mod tests {
    use std::thread;

    use randflake_core::Plain;
    use randflake_lease::EngineError;

    use super::*;

    impl SharedSegments<Plain> {
        pub(in crate::segment) fn is_woken(&self) -> bool {
            self.woken.load(Ordering::SeqCst)
        }

        pub(in crate::segment) fn set_woken(&self) {
            self.woken.store(true, Ordering::SeqCst);
        }
    }

    /// The numbers from 1 to 10, of which half are left at a refill.
    fn ten() -> SharedSegments<Plain> {
        SharedSegments::new(reserved(1, 10), &Sent::now(), Box::new(Plain), 50, 10)
    }

    fn reserved(first: u64, len: u64) -> Reservation {
        Reservation {
            segment: Segment::new(first, len).unwrap(),
            terms: CounterTerms::default(),
            lasts: None,
        }
    }

    fn put(shared: &SharedSegments<Plain>, reserved: Reservation, length: u32) {
        shared.put(reserved, &Sent::now(), length).unwrap();
    }

    fn take(shared: &SharedSegments<Plain>, count: u32) {
        assert!((0..count).all(|_| shared.next().is_ok()));
    }

    fn fill(shared: &SharedSegments<Plain>, count: usize) -> Result<usize, SegmentError> {
        shared.fill(&mut vec![Id::from_u64(0); count])
    }

    #[test]
    fn crossing_the_refill_bound_wakes_keeper_once() {
        let shared = ten();
        take(&shared, 4);
        assert!(!shared.is_woken());
        take(&shared, 1);
        assert!(shared.is_woken());
        shared.clear_woken();
        assert!(!shared.is_woken());
        assert_eq!(fill(&shared, 2), Ok(2));
        assert!(shared.is_woken());
        let shared = ten();
        assert_eq!(fill(&shared, 4), Ok(4));
        assert!(!shared.is_woken());
    }

    #[test]
    fn who_finds_no_number_wakes_the_keeper() {
        let shared = ten();
        take(&shared, 10);
        for refused in [
            |shared: &_| fill(shared, 1),
            |shared: &_| SharedSegments::next(shared).map(|_| 1),
        ] {
            shared.clear_woken();
            assert_eq!(refused(&shared), Err(SegmentError::Refilling));
            assert!(shared.is_woken());
        }
        assert_eq!(fill(&shared, 0), Ok(0));
    }

    #[test]
    fn a_segment_brings_its_bound_and_ends_what_was_wrong() {
        let shared = ten();
        shared.begin_request();
        shared.note(Some(EngineError::unavailable("no answer").into()));
        assert!(shared.status().away_for.is_some());
        put(&shared, reserved(11, 100), 100);
        let status = shared.status();
        assert!(status.away_for.is_none() && status.last_error.is_none());
        assert_eq!((status.remaining, status.length), (110, 100));
        // What fails from now on is no part of that outage.
        shared.note(Some(EngineError::unavailable("no answer").into()));
        assert!(shared.status().away_for.is_none());
        take(&shared, 59);
        assert!(!shared.is_low());
        take(&shared, 1);
        assert!(shared.is_low());
        // One `take` ends at the end of a segment.
        put(&shared, reserved(111, 100), 100);
        shared.discard();
        assert_eq!(shared.status().remaining, 0);
    }

    #[test]
    fn nothing_of_a_period_that_has_ended_is_issued() {
        const HOUR: Duration = Duration::from_secs(3_600);
        let day = |first, lasts| Reservation {
            lasts: Some(lasts),
            ..reserved(first, 10)
        };
        let first = day(1, Duration::ZERO);
        let shared = SharedSegments::new(first, &Sent::now(), Box::new(Plain), 50, 10);
        assert_eq!(shared.next(), Err(SegmentError::Refilling));
        assert!(shared.is_woken() && shared.is_low());
        assert_eq!(fill(&shared, 1), Err(SegmentError::Refilling));
        assert_eq!(fill(&shared, 0), Ok(0));
        assert_eq!(shared.status().remaining, 0);
        shared.discard();
        put(&shared, day(101, HOUR), 10);
        assert_eq!(shared.next().map(Id::to_u64), Ok(101));
        assert_eq!(shared.status().remaining, 9);
    }

    #[test]
    fn segment_wakes_waiting_callers() {
        let shared = ten();
        let puts = thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                shared.wait_for_put(0, Duration::from_secs(3_600));
                shared.phase().puts
            });
            thread::sleep(Duration::from_millis(50));
            put(&shared, reserved(11, 10), 10);
            waiting.join().unwrap()
        });
        assert_eq!(puts, 1);
    }

    #[test]
    fn a_store_is_away_if_it_failed_or_takes_long() {
        let long = Some(SLOW * 2);
        for (ago, has_failed, is_away) in [
            (None, true, false),
            (Some(Duration::ZERO), false, false),
            (Some(Duration::ZERO), true, true),
            (long, false, true),
            (long, true, true),
        ] {
            let error = has_failed.then(|| Arc::new(EngineError::unavailable("no answer").into()));
            let phase = SegmentsPhase {
                ended: false,
                puts: 0,
                length: 10,
                requested_at: ago.and_then(|ago| Instant::now().checked_sub(ago)),
                last_error: error,
            };
            assert_eq!(phase.away_for().is_some(), is_away, "{ago:?} {has_failed}");
        }
    }
}
