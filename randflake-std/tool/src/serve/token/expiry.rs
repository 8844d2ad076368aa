//! When a token expires.

use core::time::Duration;

use crate::date;

/// Expiry of a token as typed on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expiry {
    Never,
    /// A time since the Unix epoch, in whole seconds.
    At(Duration),
    /// A time span from now.
    In(Duration),
}

impl Expiry {
    /// A time since the Unix epoch, in whole seconds; `None`: never.
    pub(super) fn unix(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(unix) => Some(unix),
            Self::In(span) => Some(after(span)),
        }
    }
}

/// The time so long from now, in whole seconds.
pub(super) fn after(span: Duration) -> Duration {
    Duration::from_secs(date::now().saturating_add(span).as_secs())
}

pub(super) fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    if let Some(unix_ms) = date::unix_ms(text) {
        return Ok(Expiry::At(Duration::from_millis(unix_ms)));
    }
    date::duration(text).map(Expiry::In).map_err(|_| {
        "a date such as 2026-12-31, a time such as 90d from now, or never are allowed".to_owned()
    })
}
