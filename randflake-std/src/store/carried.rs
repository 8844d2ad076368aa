//! The store's clock between two answers.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Clock;

use crate::clock::MonotonicTime;
use crate::rules::ClockWindow;

/// This machine's clocks, which a store's is compared with.
#[derive(Clone)]
pub(crate) struct Machine {
    wall: Arc<dyn Clock + Send + Sync>,
    /// In simulations, for the monotonic one.
    steady: Option<Arc<dyn Clock + Send + Sync>>,
}

impl Machine {
    pub(super) fn new<C>(wall: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        let steady = None;
        Self { wall, steady }
    }

    pub(super) fn simulated<C>(wall: Arc<C>, steady: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        let steady: Arc<dyn Clock + Send + Sync> = steady;
        Self {
            steady: Some(steady),
            ..Self::new(wall)
        }
    }

    /// As time since the Unix epoch.
    pub(super) fn wall(&self) -> Duration {
        self.wall.now().unwrap_or_default()
    }

    /// As time since a point that only this process knows.
    pub(super) fn steady(&self) -> Duration {
        match &self.steady {
            Some(clock) => clock.now().unwrap_or_default(),
            None => Duration::from_nanos(MonotonicTime::exact().nanos()),
        }
    }
}

impl Debug for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

/// What the store's clock showed, carried on by this machine's monotonic clock: times of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    store: Duration,
    sent: Duration,
    received: Duration,
    compared: Compared,
}

/// When the store's clock was last compared with this machine's wall clock: the wall clock, and the monotonic one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    pub(super) wall: Duration,
    pub(super) steady: Duration,
}

impl Compared {
    /// What the wall clock would show now if nobody had set it since.
    fn at(&self, steady: Duration) -> Duration {
        self.wall + steady.saturating_sub(self.steady)
    }
}

impl Carried {
    /// An answer to a request.
    pub(super) fn new(
        store: Duration,
        sent: Duration,
        received: Duration,
        compared: Compared,
    ) -> Self {
        Self {
            store,
            sent,
            received,
            compared,
        }
    }

    pub(super) fn compared(&self) -> Compared {
        self.compared
    }

    /// What it shows at a time, at the least.
    pub(super) fn at(&self, steady: Duration) -> Duration {
        self.store + steady.saturating_sub(self.received)
    }

    /// What it must show in another answer, to a request sent and received at these times, unless it leapt.
    pub(super) fn expected(&self, sent: Duration, received: Duration) -> ClockWindow {
        let latest = self.store + received.saturating_sub(self.sent);
        ClockWindow::of_store(self.at(sent), latest)
    }

    /// Whether it has come to show this in small steps, none of which is a leap, and has to be compared anew.
    pub(super) fn has_drifted_to(
        &self,
        store: Duration,
        sent: Duration,
        received: Duration,
    ) -> bool {
        self.expected(sent, received).allows(store) && !self.near(sent, received).allows(store)
    }

    /// What it may show without being compared anew.
    pub(super) fn near(&self, sent: Duration, received: Duration) -> ClockWindow {
        ClockWindow::of_machine(self.compared.at(sent), self.compared.at(received))
    }
}
