//! Store time: one reading of the store clock per operation.

use core::time::Duration;

use randflake_core::{Clock, LayoutSpec};

use crate::date::utc;
use crate::types::{EngineError, StoreError};

/// A reading of the store clock, as time and as tick.
#[derive(Clone, Copy, Debug)]
pub struct StoreTime {
    /// As time since the Unix epoch.
    pub unix: Duration,
    /// The time as a tick of the layout.
    pub tick: u64,
    spec: LayoutSpec,
}

impl StoreTime {
    /// # Errors
    ///
    /// Before the layout's epoch: [`StoreError::Unavailable`] while the clock is not set, else [`StoreError::Invalid`].
    pub fn at(unix: Duration, spec: LayoutSpec) -> Result<Self, StoreError> {
        /// No clock that is set shows a time before it: this library is younger.
        const OLDEST: Duration = Duration::from_secs(1_730_000_000);

        let tick = spec.tick_at(unix).ok_or_else(|| {
            let epoch = utc(Duration::from_millis(spec.epoch_unix_ms()));
            let now = utc(unix);
            // Some machines start in 1970 until their clock is set: a retry may succeed.
            if unix < OLDEST {
                let why = "which is before the layout's epoch";
                return StoreError::unavailable(format!("its clock shows {now}, {why}, {epoch}"));
            }
            StoreError::Invalid(format!(
                "the layout's epoch is in the future: it is {epoch}, and the lease store's clock shows {now}; take an \
                 epoch that has passed"
            ))
        })?;
        Ok(Self { unix, tick, spec })
    }

    /// The end of a lease that begins now; the layout's last tick cuts it short.
    pub(super) fn end_after(&self, ttl: u64) -> Result<u64, StoreError> {
        // Else the end, which is cut below, would be at or before the start.
        if self.tick > self.spec.max_tick() {
            return Err(StoreError::failed_precondition(format!(
                "the layout's last time is {}, and the lease store's clock shows {}: take another layout or epoch",
                utc(Duration::from_millis(
                    self.spec.unix_ms(self.spec.max_tick())
                )),
                utc(self.unix)
            )));
        }
        Ok(self.extended(ttl))
    }

    /// Where a renewal moves an end to, unless it is there already.
    pub(super) fn extended(&self, ttl: u64) -> u64 {
        // Databases keep ticks as signed numbers.
        // After the last tick there is no id to be made, so no lease lasts longer.
        let max_end = self.spec.max_tick().saturating_add(1).min(i64::MAX as u64);
        self.tick.saturating_add(ttl).min(max_end)
    }

    /// How long until a tick begins; at least 1 ms.
    #[must_use]
    pub fn until(&self, tick: u64) -> Duration {
        let begin = Duration::from_millis(self.spec.unix_ms(tick));
        begin
            .saturating_sub(self.unix)
            .max(Duration::from_millis(1))
    }
}

/// Reads a local clock in place of the clock of a server.
///
/// # Errors
///
/// [`EngineError`] when the clock is not set.
pub fn read(clock: &dyn Clock) -> Result<Duration, EngineError> {
    clock
        .now()
        .ok_or_else(|| EngineError::unavailable("its clock does not know the time"))
}
