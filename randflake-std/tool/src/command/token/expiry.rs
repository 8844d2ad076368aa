//! When a token expires.

use core::time::Duration;

use randflake_common::date;

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
    if let Some(unix) = date::unix_ms(text).map(Duration::from_millis) {
        // A slip in the year: the token would be refused from the first request on.
        if unix <= date::now() {
            return Err("it is over already: a later date is allowed".to_owned());
        }
        return Ok(Expiry::At(unix));
    }
    date::duration(text).map(Expiry::In).map_err(|_| {
        "a date such as 2026-12-31, a time such as 90d from now, or never are allowed".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_expire_before_it_is_made() {
        assert!(expiry("2020-01-01").unwrap_err().contains("a later date"));
        for later in ["2999-12-31", "90d", "never"] {
            expiry(later).unwrap();
        }
    }
}
