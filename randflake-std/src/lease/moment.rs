//! The store's clock as one operation sees it.

use core::time::Duration;

use randflake_core::{Clock, Spec};

use super::{MAX_SKEW, Namespace, StoreError};

/// One reading of a store's clock, and what follows from it for a namespace's ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) unix: Duration,
    pub(super) tick: u64,
    spec: Spec,
}

impl Moment {
    pub(super) fn read(clock: &dyn Clock, spec: Spec) -> Result<Self, StoreError> {
        Self::at(read(clock)?, spec)
    }

    /// What a clock elsewhere has shown.
    pub(super) fn at(unix: Duration, spec: Spec) -> Result<Self, StoreError> {
        let tick = spec.tick_at(unix).ok_or_else(|| {
            StoreError::unavailable(format!(
                "its clock shows Unix time {} ms, before the layout's epoch at {} ms",
                unix.as_millis(),
                spec.epoch_unix_ms()
            ))
        })?;
        Ok(Self { unix, tick, spec })
    }

    /// The end of a lease that begins now; the layout's last tick cuts it short.
    pub(super) fn end_after(&self, ttl: u64) -> Result<u64, StoreError> {
        if self.tick > self.spec.max_tick() {
            return Err(StoreError::Unusable(format!(
                "the lease store's clock shows Unix time {} ms, past the layout's last tick at {} ms",
                self.unix.as_millis(),
                self.spec.unix_ms(self.spec.max_tick())
            )));
        }
        Ok(self.extended(ttl))
    }

    /// Where a renewal moves an end to, unless it is there already.
    pub(super) fn extended(&self, ttl: u64) -> u64 {
        // Databases keep ticks as signed numbers.
        let max_end = self.spec.max_tick().saturating_add(1).min(i64::MAX as u64);
        self.tick.saturating_add(ttl).min(max_end)
    }

    /// The fencing token of a grant that begins now. A store that has forgotten the former one grants
    /// nothing before what it granted is over, so this grows all the same.
    pub(super) fn fencing_token(&self, former: u64) -> u64 {
        self.tick.max(former.saturating_add(1))
    }

    /// How long until a tick begins; at least 1 ms.
    pub(super) fn until(&self, tick: u64) -> Duration {
        let begin = Duration::from_millis(self.spec.unix_ms(tick));
        begin
            .saturating_sub(self.unix)
            .max(Duration::from_millis(1))
    }

    /// The tick at which everything is over that may have been granted until now, also by a clock
    /// that differs by what is allowed.
    pub(super) fn fence(&self, namespace: &Namespace, max_ttl: Duration) -> u64 {
        let span = namespace
            .ticks(max_ttl)
            .saturating_add(namespace.ticks(MAX_SKEW));
        self.tick.saturating_add(span)
    }

    /// Refuses until the fence's tick has come.
    pub(super) fn check_fence(&self, fence: u64) -> Result<(), StoreError> {
        match self.fence_left(fence) {
            Duration::ZERO => Ok(()),
            retry_in => Err(StoreError::Fenced { retry_in }),
        }
    }

    /// How long until the fence's tick; zero when it has come.
    pub(super) fn fence_left(&self, fence: u64) -> Duration {
        if self.tick < fence {
            self.until(fence)
        } else {
            Duration::ZERO
        }
    }
}

/// What the clock shows.
pub(super) fn read(clock: &dyn Clock) -> Result<Duration, StoreError> {
    clock
        .now()
        .ok_or_else(|| StoreError::unavailable("its clock does not know the time"))
}
