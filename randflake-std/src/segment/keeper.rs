//! Keeper of segments: the thread that reserves them.

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::internal::{PutError, SegmentLength};

use super::shared::SharedSegments;
use crate::backoff::{LONGEST_PAUSE_PER_TTL, RENEWALS_PER_TTL, doubled, with_jitter};
use crate::store::LeaseStore;
use crate::vocabulary::{CounterError, CounterErrorKind, EngineError};

/// The first pause after a failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest: what is back is noticed within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Time in which a handle that needs no numbers compares its counter about three times: as often as a lease of the
/// default TTL is renewed, so that an operator waits equally long for holders of either.
pub(super) const COMPARED_PER: Duration = Duration::from_secs(60);

pub(super) struct SegmentKeeper<P> {
    shared: Arc<SharedSegments<P>>,
    store: LeaseStore,
    length: SegmentLength,
    /// When the length was last adapted, and how many numbers had been taken by then.
    adapted: (Instant, u64),
    failures: u32,
    /// When to compare the counter with what was seen of it, unless numbers are reserved before.
    compare_at: Instant,
}

impl<P> SegmentKeeper<P> {
    pub(super) fn new(
        shared: Arc<SharedSegments<P>>,
        store: LeaseStore,
        length: SegmentLength,
    ) -> Self {
        Self {
            shared,
            store,
            length,
            adapted: (Instant::now(), 0),
            failures: 0,
            compare_at: Instant::now() + with_jitter(COMPARED_PER / RENEWALS_PER_TTL),
        }
    }

    /// Refills, and compares the counter, until the last handle is gone.
    pub(super) fn run(mut self) {
        while !self.shared.has_ended() {
            self.shared.clear_woken();
            // A park that was ended for no reason only looks once more.
            let pause = self.compare_at.saturating_duration_since(Instant::now());
            if self.shared.is_low() {
                self.refill_or_pause();
            } else if pause.is_zero() {
                self.compare();
            } else {
                thread::park_timeout(pause);
            }
        }
    }

    fn refill_or_pause(&mut self) {
        match self.refill() {
            Ok(()) => {
                self.failures = 0;
                // A reservation compares, too.
                self.compare_at = Instant::now() + with_jitter(COMPARED_PER / RENEWALS_PER_TTL);
            }
            Err(error) => {
                self.refused(error);
                // Not a part of some TTL, as for leases: numbers do not expire, and whoever waits for one waits for this.
                let pause = pause_after(self.failures);
                self.failures = self.failures.saturating_add(1);
                self.pause(with_jitter(pause));
            }
        }
    }

    /// Compares the counter with what was seen of it. A counter that is gone is marked as lost by that: only a handle
    /// that runs can tell an operator that it is not new.
    fn compare(&mut self) {
        let part = match self.store.check_counter() {
            Ok(()) => {
                self.shared.note(None);
                RENEWALS_PER_TTL
            }
            Err(error) => {
                self.refused(error);
                LONGEST_PAUSE_PER_TTL
            }
        };
        self.compare_at = Instant::now() + with_jitter(COMPARED_PER / part);
    }

    fn refused(&self, error: CounterError) {
        if error.kind() == CounterErrorKind::Rewound {
            // Another handle may have been given them. What a store has merely forgotten nobody else has: it is issued.
            self.shared.discard();
        }
        self.shared.note(Some(error));
    }

    fn refill(&mut self) -> Result<(), CounterError> {
        // Adapted once per segment: in an outage the rate must not be measured again with each try.
        if self.failures == 0 {
            let (then, taken_then) = self.adapted;
            self.adapted = (Instant::now(), self.shared.taken());
            let (now, taken) = self.adapted;
            // How fast numbers went since the last segment says how long the next one must be to last.
            self.length
                .adapt(taken.wrapping_sub(taken_then), now.duration_since(then));
        }
        let length = self.length.get();
        // Told before the call, which may hang: after a second of it the store is said to be away.
        self.shared.begin_request();
        let segment = self.store.reserve(length.into())?;
        self.shared
            .put(segment, length)
            .map_err(|error| match error {
                // The store granted numbers that this handle had before: its counter went back, and
                // whoever reserves there issues them again.
                PutError::WentBack { reached, .. } => CounterError::Rewound { reached },
                error => EngineError::unavailable(error).into(),
            })
    }

    /// A caller that finds no number unparks this thread: that must not cut the pause short.
    fn pause(&self, pause: Duration) {
        let started = Instant::now();
        loop {
            let left = pause.saturating_sub(started.elapsed());
            if left.is_zero() || self.shared.has_ended() {
                return;
            }
            thread::park_timeout(left);
        }
    }
}

/// Pause after a failure, by the number of those before it.
fn pause_after(failures: u32) -> Duration {
    doubled(FIRST_PAUSE, failures).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use randflake_core::{Id, Plain, Randflake};

    use super::*;
    use crate::clock::ExactSystemClock;
    use crate::segment::COMPARED_WITHIN;
    use crate::store::engines::MemoryStore;
    use crate::vocabulary::Namespace;

    /// A handle that is not at work, with the numbers from 1 to 10.
    fn keeper(store: &MemoryStore) -> SegmentKeeper<Plain> {
        let mut store: LeaseStore = store.clone().into();
        let first = store.reserve(10).unwrap();
        let length = SegmentLength::new(10, 10, Duration::ZERO);
        let shared = SharedSegments::new(first, Box::new(Plain), 100, length.get());
        SegmentKeeper::new(Arc::new(shared), store, length)
    }

    fn memory() -> MemoryStore {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        MemoryStore::new(namespace, Arc::new(ExactSystemClock))
    }

    #[test]
    fn a_counter_that_is_gone_is_not_declared_new_beside_a_handle_that_needs_no_numbers() {
        let mut store = memory();
        let mut keeper = keeper(&store);
        keeper.compare();
        assert!(keeper.shared.status().last_error.is_none());
        store.forget();
        keeper.compare();
        let refused = store.create_counter().unwrap_err().to_string();
        assert!(refused.contains(" 11 is its next number"), "{refused}");
        let status = keeper.shared.status();
        assert_eq!(status.remaining, 10, "nobody else has them");
        assert_eq!(status.last_error.unwrap().kind(), CounterErrorKind::Lost);

        assert_eq!(store.resume_counter(1).unwrap(), 11);
        keeper.compare();
        assert!(keeper.shared.status().last_error.is_none());
    }

    #[test]
    fn numbers_that_another_handle_may_have_are_not_issued() {
        let mut store = memory();
        let mut keeper = keeper(&store);
        store.forget();
        // As where the handle cannot reach the store meanwhile.
        store.create_counter().unwrap();
        assert_eq!(store.reserve(20).unwrap().end(), 21);
        keeper.compare();
        let status = keeper.shared.status();
        assert_eq!(status.remaining, 0);
        assert_eq!(status.last_error.unwrap().kind(), CounterErrorKind::Rewound);
        let refused = store.reserve(1).unwrap_err();
        assert_eq!(refused.kind(), CounterErrorKind::Rewound);
    }

    /// Whether it compares its counter a part of a period from now, give or take the jitter and what a test takes.
    fn compares_in(keeper: &SegmentKeeper<Plain>, part: u32) -> bool {
        let pause = keeper.compare_at.saturating_duration_since(Instant::now());
        let expected = COMPARED_PER / part;
        pause > expected / 2 && pause < expected * 3 / 2
    }

    fn make_due(keeper: &mut SegmentKeeper<Plain>) {
        keeper.compare_at = Instant::now();
        assert!(!compares_in(keeper, RENEWALS_PER_TTL));
    }

    #[test]
    fn a_counter_is_compared_a_third_of_a_period_later_and_sooner_after_a_failure() {
        let store = memory();
        let mut keeper = keeper(&store);
        assert!(compares_in(&keeper, RENEWALS_PER_TTL));
        make_due(&mut keeper);
        keeper.refill_or_pause();
        assert!(compares_in(&keeper, RENEWALS_PER_TTL));
        make_due(&mut keeper);
        keeper.compare();
        assert!(compares_in(&keeper, RENEWALS_PER_TTL));
        store.fail_next(1);
        keeper.compare();
        assert!(compares_in(&keeper, LONGEST_PAUSE_PER_TTL));
    }

    #[test]
    fn a_refill_that_fails_is_tried_again_after_a_pause_and_measures_no_rate() {
        let store = memory();
        let mut keeper = keeper(&store);
        let measured = keeper.adapted;
        keeper.failures = 1;
        store.fail_next(1);
        let begun = Instant::now();
        keeper.refill_or_pause();
        assert!(begun.elapsed() >= FIRST_PAUSE);
        assert_eq!((keeper.failures, keeper.adapted), (2, measured));
        keeper.refill_or_pause();
        assert_eq!((keeper.failures, keeper.adapted), (0, measured));
        assert_eq!(keeper.shared.status().remaining, 20);
    }

    #[test]
    fn pauses_double_up_to_a_second() {
        let pauses = [0, 1, 4, 5, 40].map(|failures| pause_after(failures).as_millis());
        assert_eq!(pauses, [50, 100, 800, 1_000, 1_000]);
    }

    #[test]
    fn a_pause_ends_with_the_handle() {
        let keeper = keeper(&memory());
        keeper.shared.end();
        keeper.pause(Duration::from_secs(3_600));
    }

    #[test]
    fn a_keeper_at_work_looks_for_callers_and_compares_its_counter() {
        let store = memory();
        let mut keeper = keeper(&store);
        keeper.refill_or_pause();
        keeper.shared.fill(&mut [Id::from_u64(0); 5]).unwrap();
        // Neither is low: a segment is left, and half of another.
        assert!(!keeper.shared.is_low());
        keeper.shared.set_woken();
        store.forget();
        make_due(&mut keeper);
        let shared = Arc::clone(&keeper.shared);
        let at_work = thread::spawn(move || keeper.run());
        while shared.is_woken() || shared.status().last_error.is_none() {
            thread::yield_now();
        }
        shared.end();
        at_work.join().unwrap();
    }

    #[test]
    fn an_operator_waits_until_every_handle_has_compared_its_counter() {
        let within = crate::backoff::renewed_within(COMPARED_PER);
        assert!(COMPARED_WITHIN >= within, "{within:?}");
    }
}
