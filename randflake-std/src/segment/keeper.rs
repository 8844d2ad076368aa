//! Keeper of segments: the thread that reserves them.

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::internal::{PutError, SegmentLength};

use super::shared::SharedSegments;
use crate::backoff::{doubled, with_jitter};
use crate::store::LeaseStore;
use crate::vocabulary::CounterError;
use crate::vocabulary::EngineError;

/// The first pause after a failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest: what is back is noticed within a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct SegmentKeeper<P> {
    shared: Arc<SharedSegments<P>>,
    store: LeaseStore,
    length: SegmentLength,
    /// When the length was adapted, and how many numbers had been taken then.
    adapted: (Instant, u64),
    failures: u32,
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
        }
    }

    /// Refills until the last handle is gone.
    pub(super) fn run(mut self) {
        while !self.shared.has_ended() {
            self.shared.looks();
            if !self.shared.is_low() {
                thread::park();
                continue;
            }
            match self.refill() {
                Ok(()) => self.failures = 0,
                Err(error) => {
                    self.shared.note(error);
                    let pause = doubled(FIRST_PAUSE, self.failures).min(LONGEST_PAUSE);
                    self.failures = self.failures.saturating_add(1);
                    self.pause(with_jitter(pause));
                }
            }
        }
    }

    fn refill(&mut self) -> Result<(), CounterError> {
        // Adapted once per segment: in an outage the rate must not be measured again with each try.
        if self.failures == 0 {
            let (then, taken_then) = self.adapted;
            self.adapted = (Instant::now(), self.shared.taken());
            let (now, taken) = self.adapted;
            self.length
                .adapt(taken.wrapping_sub(taken_then), now.duration_since(then));
        }
        let length = self.length.get();
        self.shared.asks();
        let segment = self.store.reserve(length.into())?;
        self.shared
            .put(segment, length)
            .map_err(|error| match error {
                PutError::WentBack { reached, .. } => CounterError::Lost { reached },
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
