//! Estimate of the store's clock between two answers.
//!
//! The one place that knows what the store's clock should show: it says which times an operation
//! may be decided by, from when to when a renewal without a read may be written, and that the clock
//! stepped.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Clock;

use crate::clock::MonotonicTime;
use crate::rules::ClockWindow;

/// Wall clock and monotonic clock of this machine.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    /// The clock that the store's is compared with; `None` if the store has no clock of its own.
    wall: Option<Arc<dyn Clock + Send + Sync>>,
    /// In simulations, in place of the monotonic one.
    monotonic: Option<Arc<dyn Clock + Send + Sync>>,
}

impl Machine {
    pub(super) fn compared<C>(wall: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        Self {
            wall: Some(wall),
            monotonic: None,
        }
    }

    pub(super) fn simulated<C>(wall: Arc<C>, monotonic: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        Self {
            wall: Some(wall),
            monotonic: Some(monotonic),
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            // A clock that cannot be read shows 1970, which no store's clock agrees with.
            wall: self.wall.as_ref().map(|it| it.now().unwrap_or_default()),
            monotonic: match &self.monotonic {
                Some(clock) => clock.now().unwrap_or_default(),
                None => Duration::from_nanos(MonotonicTime::exact().nanos()),
            },
        }
    }
}

impl Debug for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

/// A moment by this machine's clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Time since the Unix epoch; `None` where the store's clock is not compared with it.
    wall: Option<Duration>,
    /// Time since a point that only this process knows.
    monotonic: Duration,
}

/// A request and its reply, by this machine's clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) sent: Moment,
    pub(super) received: Moment,
}

/// The store's clock as last answered, carried on by this machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockEstimate {
    store: Duration,
    answer: Exchange,
    /// When the store's clock was compared with this machine's wall clock last.
    compared: Moment,
}

impl ClockEstimate {
    /// An answer of the store.
    pub(super) fn new(store: Duration, answer: Exchange, compared: Moment) -> Self {
        Self {
            store,
            answer,
            compared,
        }
    }

    /// The times at which the store's clock may have been read in an exchange, and the comparison
    /// with the wall clock that they rest on. They follow from the `last` answer, if there is one
    /// and it may be relied on; else from the wall clock, with which the store's is compared by
    /// this. `None` if they are not to be compared.
    pub(super) fn window(
        last: Option<&Self>,
        store: Duration,
        exchange: &Exchange,
    ) -> (Option<ClockWindow>, Moment) {
        let Exchange { sent, received } = exchange;
        let Some((before, after)) = sent.wall.zip(received.wall) else {
            // No clock of its own: there is nothing to compare, and `compared` has no wall clock.
            return (None, *sent);
        };
        match last.filter(|last| !last.has_drifted_to(store, exchange)) {
            Some(last) => (Some(last.by_last_answer(exchange)), last.compared),
            None => (Some(ClockWindow::of_machine(before, after)), *sent),
        }
    }

    /// When a renewal that is sent now without a read may be written: the store's clock, at the
    /// least, and the times that it may show. `None` if the clocks have to be compared first.
    pub(super) fn blind(&self, sent: &Moment) -> Option<(Duration, ClockWindow)> {
        let now = self.at(sent);
        let near = self.by_wall_clock(sent, sent)?;
        Some((now, ClockWindow::of_blind_renewal(now, &near)?))
    }

    /// The comparison with the wall clock that the estimate rests on.
    pub(super) fn compared(&self) -> Moment {
        self.compared
    }

    /// Milliseconds by which the store's clock stepped since the last answer, if it is not where it
    /// must be.
    pub(super) fn step(&self, store: Duration, exchange: &Exchange) -> Option<i64> {
        if self.by_last_answer(exchange).allows(store) {
            return None;
        }
        // From request to request: how long the two were on their way cancels out, more or less.
        let passed = since(&exchange.sent, &self.answer.sent);
        let expected = self.store.saturating_add(passed);
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Some(ms(store) - ms(expected))
    }

    /// What it shows at a moment, at the least: the store read its clock before this machine had
    /// the reply.
    fn at(&self, moment: &Moment) -> Duration {
        self.store
            .saturating_add(since(moment, &self.answer.received))
    }

    /// What it must show in another answer unless it leapt.
    fn by_last_answer(&self, exchange: &Exchange) -> ClockWindow {
        // At the latest: the store read its clock as soon as the last request was sent.
        let latest = since(&exchange.received, &self.answer.sent);
        ClockWindow::of_store(self.at(&exchange.sent), self.store.saturating_add(latest))
    }

    /// Whether it may have come to show this in small steps, none of which is a leap, and has to be
    /// compared anew.
    fn has_drifted_to(&self, store: Duration, exchange: &Exchange) -> bool {
        let near = self.by_wall_clock(&exchange.sent, &exchange.received);
        self.by_last_answer(exchange).allows(store) && !near.is_some_and(|it| it.allows(store))
    }

    /// What it may show without being compared anew: near what the wall clock showed then, carried
    /// on by the monotonic clock, if that was not too long ago. The wall clock itself may have been
    /// set since.
    fn by_wall_clock(&self, sent: &Moment, received: &Moment) -> Option<ClockWindow> {
        let wall = self.compared.wall?;
        let at = |moment: &Moment| wall.saturating_add(since(moment, &self.compared));
        let age = since(received, &self.compared);
        ClockWindow::of_machine_carried(at(sent), at(received), age)
    }
}

/// What has passed by the monotonic clock.
fn since(later: &Moment, earlier: &Moment) -> Duration {
    later.monotonic.saturating_sub(earlier.monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(at: Duration) -> Exchange {
        let moment = Moment {
            wall: None,
            monotonic: at,
        };
        Exchange {
            sent: moment,
            received: moment,
        }
    }

    #[test]
    fn step_is_the_difference_to_the_time_that_passed() {
        let second = Duration::from_secs(1);
        let answer = exchange(second);
        let estimate = ClockEstimate::new(second * 1_000, answer, answer.sent);
        let later = exchange(second * 11);
        let step = |store| estimate.step(second * store, &later);
        assert_eq!(step(1_010), None);
        assert_eq!(step(1_040), Some(30_000));
        assert_eq!(step(980), Some(-30_000));
    }
}
