//! The clock: the program's uptime and an offset.

use core::time::Duration;

use randflake_core::{AtomicWord, Clock};

use crate::config::Grant;
use crate::status::{self, Status};
use crate::{Rf, Setup, word};

/// Unix time minus uptime while the time is not known.
const UNKNOWN: u32 = 0;

/// The step of a time that is trusted.
const NO_LIMIT: u32 = u32::MAX;

/// Reads the time of an `rf_t`.
pub(crate) struct Time<'a> {
    pub(crate) rf: &'a Rf,
    pub(crate) setup: &'a Setup,
}

impl Time<'_> {
    /// Unix time in seconds, or `None` before the first setting. The offset is one word, so it is
    /// never half set.
    pub(crate) fn unix_s(&self) -> Option<u32> {
        let offset = word::load(&self.rf.offset);
        (offset != UNKNOWN).then(|| self.setup.config.uptime_s().wrapping_add(offset))
    }
}

impl Clock for Time<'_> {
    #[inline]
    fn now(&self) -> Option<Duration> {
        self.unix_s()
            .map(|unix_s| Duration::from_secs(unix_s.into()))
    }
}

#[unsafe(no_mangle)]
extern "C" fn rf_now(rf: Option<&Rf>) -> u32 {
    let time = rf.and_then(|rf| rf.inside(|setup| Time { rf, setup }.unix_s()));
    time.flatten().unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn rf_set_clock(rf: Option<&Rf>, unix_s: u32, max_step_s: u32) -> Status {
    let Some(rf) = rf else {
        return status::NULL;
    };
    match rf.inside(|setup| set(rf, setup, unix_s, max_step_s)) {
        Some(()) => status::OK,
        None if rf.gate.is_untouched() => status::NULL,
        // `rf_init` replaces the configuration.
        None => status::BUSY,
    }
}

#[inline]
fn set(rf: &Rf, setup: &Setup, unix_s: u32, max_step_s: u32) {
    let grant = &setup.config.grant;
    let uptime = setup.config.uptime_s();
    let from = match word::load(&rf.trusted) {
        UNKNOWN => grant.start_unix_s,
        // The grant is trusted too.
        trusted => uptime.wrapping_add(trusted).max(grant.start_unix_s),
    };
    let offset = offset_to(within(grant, unix_s, from, max_step_s), uptime);
    if max_step_s == NO_LIMIT {
        word::store(&rf.trusted, offset);
    } else {
        // Only the first: a trusted setting that came meanwhile stays.
        AtomicWord::compare_exchange(&rf.trusted, UNKNOWN, offset_to(from, uptime));
    }
    word::store(&rf.offset, offset);
}

/// Offset from uptime to Unix time, never 0, which means unknown: equal times are a second off
/// instead.
fn offset_to(unix_s: u32, uptime_s: u32) -> u32 {
    unix_s.wrapping_sub(uptime_s).max(1)
}

/// Limits a received time as `TimeBounds` of the core does, in whole seconds: that would link
/// 64-bit divisions. The grant begins at the horizon at the earliest, so its start is the floor.
fn within(grant: &Grant, told: u32, from: u32, max_step_s: u32) -> u32 {
    let capped = told.min(from.saturating_add(max_step_s));
    capped.max(grant.start_unix_s).min(grant.end_unix_s)
}
