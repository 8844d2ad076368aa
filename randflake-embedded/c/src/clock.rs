//! The clock: the program's uptime and an offset.

use core::time::Duration;

use randflake_core::Clock;

use crate::config::Grant;
use crate::status::{self, Status};
use crate::{Rf, Setup, word};

/// Unix time minus uptime while the time is not known.
const UNKNOWN: u32 = 0;

/// Reads the time of an `rf_t`.
pub(crate) struct Time<'a> {
    pub(crate) rf: &'a Rf,
    pub(crate) setup: &'a Setup,
}

impl Time<'_> {
    /// One word, so that whoever sets it leaves no half of a setting to be read.
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
extern "C" fn rf_now(rf: &Rf) -> u32 {
    let time = rf.setup().and_then(|setup| Time { rf, setup }.unix_s());
    time.unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn rf_set_clock(rf: &Rf, unix_s: u32, max_step_s: u32) -> Status {
    let Some(setup) = rf.setup() else {
        return status::NULL;
    };
    let shown = Time { rf, setup }.unix_s();
    let unix_s = within(&setup.config.grant, unix_s, shown, max_step_s);
    let offset = unix_s.wrapping_sub(setup.config.uptime_s());
    // Where the uptime is the time it is a second more, to be known.
    word::store(&rf.offset, offset.max(1));
    status::OK
}

/// What `TimeBounds` of the core makes of a time, in whole seconds: that one would link 64-bit divisions. The grant
/// begins at the horizon at the earliest.
fn within(grant: &Grant, told: u32, shown: Option<u32>, max_step_s: u32) -> u32 {
    let from = shown.unwrap_or(grant.start_unix_s);
    let capped = told.min(from.saturating_add(max_step_s));
    capped.max(grant.start_unix_s).min(grant.end_unix_s)
}
