//! Keeper of segments: the thread that reserves them.

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::internal::{PutError, SegmentLength};
use randflake_lease::backoff::{
    LONGEST_PAUSE_PER_TTL, RENEWALS_PER_TTL, doubled, random_part, with_jitter,
};
use randflake_lease::unstable::engine::{LeaseStore, Look};
use randflake_lease::unstable::rules::counter::CounterRefusal;
use randflake_lease::{CounterError, CounterErrorKind, EngineError};

use super::period_end::Sent;
use super::shared::SharedSegments;
use crate::look_schedule::{LookSchedule, Step};
use crate::observability::events;

/// The first pause after a failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest: what is back is noticed within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Time in which a handle that needs no numbers compares its counter about three times: as often as
/// a lease of the default TTL is renewed, so that an operator waits equally long for holders of
/// either.
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
    /// Looks at the store between comparisons; `None` if it needs none.
    looks: Option<LookSchedule>,
}

impl<P> SegmentKeeper<P> {
    pub(super) fn new(
        shared: Arc<SharedSegments<P>>,
        store: LeaseStore,
        length: SegmentLength,
    ) -> Self {
        let looks = LookSchedule::new(
            store.look_every(),
            store.is_on_server(),
            COMPARED_PER,
            Instant::now(),
            random_part(),
        );
        Self {
            shared,
            store,
            length,
            looks,
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
            let now = Instant::now();
            let pause = self.compare_at.saturating_duration_since(now);
            // First: a refill that fails again and again must not keep it from a look.
            if self.look(now) {
                continue;
            }
            if self.shared.is_period_over() {
                // Else they would be in the way of those of the next one.
                self.shared.discard();
            }
            if self.shared.is_low() {
                self.refill_or_pause();
            } else if pause.is_zero() {
                self.compare();
            } else {
                let until_look = self.looks.as_ref().map(|looks| looks.pause(now));
                let earlier = [until_look, self.shared.period_left()];
                thread::park_timeout(earlier.into_iter().flatten().fold(pause, Duration::min));
            }
        }
    }

    fn refill_or_pause(&mut self) {
        match self.refill() {
            Ok(()) => {
                self.note_answer(true);
                self.failures = 0;
                // A reservation compares, too.
                self.compare_at = Instant::now() + with_jitter(COMPARED_PER / RENEWALS_PER_TTL);
            }
            Err(error) => {
                self.refused(error);
                // Not a part of a TTL, as for leases: numbers do not expire, and waiting callers
                // wait for this retry.
                let pause = pause_after(self.failures);
                self.failures = self.failures.saturating_add(1);
                self.pause(with_jitter(pause));
            }
        }
    }

    /// Compares the counter with its last known state. A counter that is gone is then marked as
    /// lost: only a running handle knows that it is not new.
    fn compare(&mut self) {
        let part = match self.store.counter().check() {
            Ok(()) => {
                self.note_answer(true);
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

    /// Looks at the store if that is due, and returns whether it was.
    fn look(&mut self, now: Instant) -> bool {
        let Some(looks) = &mut self.looks else {
            return false;
        };
        let store = &mut self.store;
        let step = looks.step(
            now,
            self.compare_at,
            || store.has_disconnected(),
            random_part(),
        );
        match step {
            Step::Wait => return false,
            Step::Renew => {
                self.compare();
                return true;
            }
            Step::Look | Step::Read => {}
        }
        let is_broken = step == Step::Read && store.is_on_server();
        match store.look() {
            Ok(Look::Same) if !is_broken => self.note_answer(true),
            // It was said when the numbers were lost.
            Ok(Look::Lost(_)) if self.shared.remaining() == 0 => self.note_answer(true),
            Ok(Look::Lost(why)) => {
                events::store_lost(self.store.namespace().name(), &why);
                // Another handle may be given them by the store that is there now.
                self.shared.discard();
                self.compare();
            }
            // A call or the connection failed, or the look did: the comparison tells what that
            // means.
            Ok(Look::Same | Look::Changed) | Err(_) => self.compare(),
        }
        true
    }

    /// Notes whether the store has answered: until it has, it is looked at.
    fn note_answer(&mut self, is_answered: bool) {
        let now = Instant::now();
        match &mut self.looks {
            Some(looks) if is_answered => looks.answered(now),
            Some(looks) => looks.failed(now, random_part()),
            None => {}
        }
    }

    fn refused(&mut self, error: CounterError) {
        // A refusal is an answer, too.
        self.note_answer(error.kind() != CounterErrorKind::Unavailable);
        if error.kind() == CounterErrorKind::Rewound {
            // Another handle may have been given them. What a store has merely forgotten nobody
            // else has: it is issued.
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
            // How fast numbers went since the last segment says how long the next one must be to
            // last.
            self.length
                .adapt(taken.wrapping_sub(taken_then), now.duration_since(then));
        }
        let length = self.length.get();
        // Noted before the call, which may hang: after a second of it the store is said to be away.
        self.shared.begin_request();
        let sent = Sent::now();
        let reserved = self.store.counter().reserve_up_to(length.into())?;
        if self.shared.is_of_later_period(&reserved) {
            // By the store's clock the period of those that are left has ended.
            self.shared.discard();
        }
        self.shared
            .put(reserved, &sent, length)
            .map_err(|error| match error {
                // The store granted numbers that this handle had before: its counter went back, and
                // the next holders of a reservation would issue them again.
                PutError::WentBack { reached, .. } => (self.store)
                    .counter()
                    .error(CounterRefusal::Rewound { reached }),
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
    use randflake_lease::ExactSystemClock;
    use randflake_lease::MemoryStore;
    use randflake_lease::Namespace;

    use super::*;
    use crate::looked_at::{Sight, looked_at};
    use crate::segment::compared_within;

    /// A handle that is not at work, with the numbers from 1 to 10.
    fn keeper(store: &MemoryStore) -> SegmentKeeper<Plain> {
        keeper_of(store.clone())
    }

    fn keeper_of(store: impl Into<LeaseStore>) -> SegmentKeeper<Plain> {
        let mut store: LeaseStore = store.into();
        let first = store.counter().reserve_up_to(10).unwrap();
        let length = SegmentLength::new(10, 10, Duration::ZERO);
        let sent = Sent::now();
        let shared = SharedSegments::new(first, &sent, Box::new(Plain), 100, length.get());
        SegmentKeeper::new(Arc::new(shared), store, length)
    }

    fn memory() -> MemoryStore {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        MemoryStore::new(namespace, Arc::new(ExactSystemClock))
    }

    #[test]
    fn idle_handle_keeps_a_lost_counter_from_being_new() {
        let mut store = memory();
        let mut keeper = keeper(&store);
        keeper.compare();
        assert!(keeper.shared.status().last_error.is_none());
        store.forget();
        keeper.compare();
        let refused = store.counter().create().unwrap_err().to_string();
        assert!(refused.contains("at least 11"), "{refused}");
        let status = keeper.shared.status();
        assert_eq!(status.remaining, 10, "nobody else has them");
        assert_eq!(status.last_error.unwrap().kind(), CounterErrorKind::Lost);

        assert_eq!(store.counter().resume(1).unwrap(), 11);
        keeper.compare();
        assert!(keeper.shared.status().last_error.is_none());
    }

    #[test]
    fn possibly_duplicate_numbers_are_not_issued() {
        let mut store = memory();
        let mut keeper = keeper(&store);
        store.forget();
        // As where the handle cannot reach the store meanwhile.
        store.counter().create().unwrap();
        assert_eq!(store.counter().reserve(20).unwrap().end(), 21);
        keeper.compare();
        let status = keeper.shared.status();
        assert_eq!(status.remaining, 0);
        assert_eq!(status.last_error.unwrap().kind(), CounterErrorKind::Rewound);
        let refused = store.counter().reserve(1).unwrap_err();
        assert_eq!(refused.kind(), CounterErrorKind::Rewound);
    }

    /// Whether it compares its counter a part of a period from now, give or take the jitter and
    /// what a test takes.
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
    fn counter_is_compared_each_third_of_a_period() {
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

    /// Another process may find the store that is there now, and an operator begin its counter.
    #[test]
    fn operator_waits_until_handles_have_compared() {
        let within = |look_every| {
            let sight = Sight {
                look_every,
                ..Sight::default()
            };
            compared_within(&looked_at(memory(), sight).0)
        };
        assert_eq!(within(None).as_secs(), 33);
        assert_eq!(within(Some(LONGEST_PAUSE)).as_secs(), 2);
    }

    #[test]
    fn a_store_that_is_lost_ends_all_numbers_at_once() {
        let every = Duration::from_millis(1);
        let sight = Sight {
            look_every: Some(every),
            ..Sight::default()
        };
        let (looked_at, sight) = looked_at(memory(), sight);
        let mut keeper = keeper_of(looked_at);
        let later = || Instant::now() + every * 2;
        assert!(keeper.look(later()));
        assert_eq!(keeper.shared.status().remaining, 10);
        sight.lock().unwrap().lost = Some("the file is another one");
        assert!(keeper.look(later()));
        assert_eq!(keeper.shared.status().remaining, 0);
        assert!(!keeper.look(Instant::now()), "it is not due");
    }

    #[test]
    fn failure_makes_a_server_counter_be_compared_soon() {
        let store = memory();
        let sight = Sight {
            is_on_server: true,
            ..Sight::default()
        };
        let (looked_at, sight) = looked_at(store.clone(), sight);
        let mut keeper = keeper_of(looked_at);
        let begun = Instant::now();
        let after = |periods: u32| begun + COMPARED_PER / RENEWALS_PER_TTL * periods;
        assert!(!keeper.look(after(1)), "its connection has not broken");
        store.fail_next(2);
        keeper.compare();
        assert!(keeper.look(after(2)));
        assert!(keeper.look(after(3)), "the look failed, too");
        store.forget();
        assert!(!keeper.look(after(4)), "it was answered");
        sight.lock().unwrap().has_disconnected = true;
        assert!(keeper.look(after(5)) || keeper.look(after(6)));
        let error = keeper.shared.status().last_error.unwrap();
        assert_eq!(error.kind(), CounterErrorKind::Lost);
    }

    #[test]
    fn failed_refill_is_retried_and_measures_no_rate() {
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
    fn keeper_serves_callers_and_compares_its_counter() {
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
}
