//! State that the callers of a handle and its keeper exchange, and wait for.

use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use randflake_lease::{Losses, StoreError};

use super::tasks::Tasks;

/// State of the keeper; every change wakes those that wait for one.
#[derive(Debug, Default)]
pub(super) struct HandlePhase {
    /// The handle is being closed: the keeper releases everything and ends.
    pub(super) closing: bool,
    /// The keeper thread has ended.
    pub(super) ended: bool,
    /// Error of the final release, if it failed.
    pub(super) release_error: Option<StoreError>,
    /// Number of issuers that the keeper has replaced.
    pub(super) replaced: u64,
    /// Leases lost since the build, by reason.
    pub(super) losses: Losses,
    /// A caller has noticed another generation number; the keeper checks the leases.
    pub(super) copied: bool,
    /// The last generation that a caller has reported to the keeper.
    pub(super) reported_generation: Option<u64>,
    /// Why the last call of the store failed, until one succeeds.
    pub(super) last_error: Option<Arc<StoreError>>,
    /// Why the store has not granted as many node ids as the load asks for, while it does.
    pub(super) shortage: Option<Arc<StoreError>>,
}

/// Reason why the pause of the keeper ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// The handle is being closed by its owner.
    Close,
    /// The generation number shows that the machine was copied.
    Copy,
    /// The time is up, or a tick ran out.
    Other,
}

/// The phase of a handle, and the threads and tasks that wait for a change of it.
#[derive(Debug)]
pub(super) struct PhaseCell {
    phase: Mutex<HandlePhase>,
    changed: Condvar,
    /// Tasks of a runtime, which wait as threads do on `changed`.
    pub(super) tasks: Tasks,
}

impl PhaseCell {
    pub(super) fn new() -> Self {
        Self {
            phase: Mutex::default(),
            changed: Condvar::new(),
            tasks: Tasks::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HandlePhase> {
        // No code panics while it holds the lock; if it did, the phase would still be whole.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the phase, and wakes all who wait.
    pub(super) fn change(&self, change: impl FnOnce(&mut HandlePhase)) {
        change(&mut self.lock());
        // Without the lock, so that those who are woken find it free.
        self.changed.notify_all();
        self.tasks.wake();
    }

    /// Wakes waiters after the keeper has put issuers in place: the store answers again.
    pub(super) fn has_acquired(&self) {
        self.change(|phase| {
            // May wrap: waiters only ask whether it is another number than before.
            phase.replaced = phase.replaced.wrapping_add(1);
            phase.last_error = None;
        });
    }

    /// Waits until the phase satisfies a condition; returns `false` if the time is up first.
    pub(super) fn wait_until(
        &self,
        time_limit: Duration,
        wanted: impl Fn(&HandlePhase) -> bool,
    ) -> bool {
        let (phase, _) = self
            .changed
            .wait_timeout_while(self.lock(), time_limit, |phase| !wanted(phase))
            .unwrap_or_else(PoisonError::into_inner);
        // Asked again: the change may come just when the time is up.
        wanted(&phase)
    }

    /// Pause of the keeper, cut short by a copy of the machine, and when callers need more node
    /// ids.
    pub(super) fn pause(&self, time: Duration, is_in_demand: impl Fn() -> bool) -> Wake {
        self.wait_until(time, |phase| {
            phase.closing || phase.copied || is_in_demand()
        });
        // The lock was free in between. What came meanwhile is seen now; what comes later wakes the
        // next pause.
        let mut phase = self.lock();
        let copied = mem::take(&mut phase.copied);
        match (phase.closing, copied) {
            (true, _) => Wake::Close,
            (false, true) => Wake::Copy,
            (false, false) => Wake::Other,
        }
    }

    /// Wakes the keeper in its pause, so that it looks at the demand.
    pub(super) fn wake_for_demand(&self) {
        // Under the lock, if that takes no waiting: then the keeper waits already, or has not
        // looked yet. Else it may miss this, and looks a tenth of a second later.
        drop(self.phase.try_lock());
        // Tasks are not woken: only the keeper has something to do, and it is a thread.
        self.changed.notify_all();
    }

    /// Wakes the keeper when a caller is the first to notice a generation. Returns whether other
    /// leases will follow: not if the handle is being closed.
    pub(super) fn report_copy(&self, generation: u64) -> bool {
        let mut phase = self.lock();
        // Once for each: every call is refused until the keeper has other leases, and must not wake
        // it each time.
        if phase.reported_generation != Some(generation) {
            phase.reported_generation = Some(generation);
            phase.copied = true;
            self.changed.notify_all();
        }
        !phase.closing
    }
}

/// Demand of an elastic handle, from its callers to its keeper: two flags, so that a refused call
/// costs only a load.
#[derive(Debug)]
pub(super) struct Demand {
    /// A call found the tick exhausted since the keeper looked.
    ran_out: AtomicBool,
    /// The keeper could acquire more: it has less than the maximum, and the store has not just
    /// refused.
    can_take: AtomicBool,
}

impl Demand {
    pub(super) fn new() -> Self {
        Self {
            ran_out: AtomicBool::new(false),
            can_take: AtomicBool::new(true),
        }
    }

    /// Notes that a tick is exhausted. Returns whether to wake the keeper.
    pub(super) fn ran_out(&self) -> bool {
        // A load first: while a tick is exhausted every call comes here, and a swap by each would
        // make the threads contend.
        !self.ran_out.load(Ordering::Relaxed)
            && !self.ran_out.swap(true, Ordering::AcqRel)
            && self.can_take()
    }

    /// Whether the keeper must acquire at once: a tick ran out, and it can take more.
    pub(super) fn is_urgent(&self) -> bool {
        // Without `can_take` the keeper would never pause in a full namespace: callers set the flag
        // again as soon as it is cleared.
        self.can_take() && self.ran_out.load(Ordering::Acquire)
    }

    /// Whether a tick ran out since [`clear`](Demand::clear).
    pub(super) fn has_run_out(&self) -> bool {
        self.ran_out.load(Ordering::Acquire)
    }

    /// Forgets the exhausted ticks so far: the keeper has seen them.
    pub(super) fn clear(&self) {
        self.ran_out.store(false, Ordering::Release);
    }

    pub(super) fn can_take(&self) -> bool {
        self.can_take.load(Ordering::Acquire)
    }

    pub(super) fn set_can_take(&self, can_take: bool) {
        self.can_take.store(can_take, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn pause(phase: &PhaseCell) -> Wake {
        phase.pause(Duration::ZERO, || false)
    }

    #[test]
    fn keeper_wakes_once_per_copy_and_for_close() {
        let phase = PhaseCell::new();
        assert_eq!(pause(&phase), Wake::Other);
        for generation in [7, 8] {
            assert!(phase.report_copy(generation));
            assert_eq!(pause(&phase), Wake::Copy);
            assert!(phase.report_copy(generation));
            assert_eq!(pause(&phase), Wake::Other, "it knows of {generation}");
        }
        phase.change(|phase| phase.closing = true);
        assert!(!phase.report_copy(9));
        assert_eq!(pause(&phase), Wake::Close);
    }

    /// Wakes a pausing thread until its pause ends: a keeper that looks at the demand just then may
    /// miss it, and would look again a tenth of a second later, which this pause does not.
    fn pause_until(wake: impl Fn(&PhaseCell), is_in_demand: &AtomicBool) -> Wake {
        let phase = &PhaseCell::new();
        let long = Duration::from_secs(3_600);
        thread::scope(|scope| {
            let pausing =
                scope.spawn(move || phase.pause(long, || is_in_demand.load(Ordering::SeqCst)));
            while !pausing.is_finished() {
                thread::sleep(Duration::from_millis(50));
                wake(phase);
            }
            pausing.join().unwrap()
        })
    }

    #[test]
    fn a_pause_ends_with_a_copy_and_with_demand() {
        let is_in_demand = AtomicBool::new(false);
        let wake = pause_until(|phase| assert!(phase.report_copy(7)), &is_in_demand);
        assert_eq!(wake, Wake::Copy);
        let wake = pause_until(
            |phase| {
                is_in_demand.store(true, Ordering::SeqCst);
                phase.wake_for_demand();
            },
            &is_in_demand,
        );
        assert_eq!(wake, Wake::Other);
    }

    #[test]
    fn what_was_acquired_ends_the_last_error() {
        let phase = PhaseCell::new();
        let error = StoreError::unavailable("no answer");
        phase.change(|phase| phase.last_error = Some(Arc::new(error)));
        phase.has_acquired();
        assert!(phase.lock().last_error.is_none());
        assert_eq!(phase.lock().replaced, 1);
        assert!(phase.wait_until(Duration::ZERO, |phase| phase.replaced == 1));
        assert!(!phase.wait_until(Duration::ZERO, |phase| phase.replaced == 2));
    }

    #[test]
    fn first_refusal_wakes_a_keeper_that_can_take_more() {
        let demand = Demand::new();
        assert!(demand.can_take() && !demand.has_run_out() && !demand.is_urgent());
        assert!(demand.ran_out());
        assert!(demand.has_run_out() && demand.is_urgent());
        assert!(!demand.ran_out(), "it knows");
        demand.clear();
        assert!(!demand.has_run_out() && !demand.is_urgent());
        demand.set_can_take(false);
        assert!(!demand.ran_out());
        assert!(demand.has_run_out() && !demand.can_take() && !demand.is_urgent());
        demand.set_can_take(true);
        assert!(demand.is_urgent());
    }
}
