//! A counter that moves ten times a second while somebody looks at it.
//!
//! Reading it costs one load, where reading the time costs several nanoseconds: a prefetched id is
//! cheaper than that.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

/// How long a pulse lasts.
pub(super) const PERIOD: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(super) struct Pulse {
    count: AtomicU64,
    /// The counter moves on until it is here, and rests then.
    wanted: AtomicU64,
    rest: Mutex<Rest>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct Rest {
    resting: bool,
    ended: bool,
}

impl Pulse {
    /// A pulse with a thread of its own, which ends with [`end`](Pulse::end).
    pub(super) fn start() -> Result<Arc<Self>, io::Error> {
        let pulse = Arc::new(Self::default());
        let beating = Arc::clone(&pulse);
        thread::Builder::new()
            .name("randflake-pulse".to_owned())
            .spawn(move || beating.run())?;
        Ok(pulse)
    }

    /// The count now.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Lets the counter move on at least until it is at `count`.
    pub(super) fn beat_until(&self, count: u64) {
        if self.wanted.fetch_max(count, Ordering::AcqRel) < count && self.rest().resting {
            self.woken.notify_all();
        }
    }

    /// Ends the thread, and lets every block expire.
    pub(super) fn end(&self) {
        let mut rest = self.rest();
        rest.ended = true;
        self.count.store(u64::MAX, Ordering::Release);
        self.woken.notify_all();
    }

    fn run(&self) {
        let mut rest = self.rest();
        while !rest.ended {
            rest.resting = self.wanted.load(Ordering::Acquire) <= self.count();
            if rest.resting {
                rest = self
                    .woken
                    .wait(rest)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self
                .woken
                .wait_timeout_while(rest, PERIOD, |rest| !rest.ended);
            rest = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !rest.ended {
                self.count.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
