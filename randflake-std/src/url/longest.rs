//! The option `max_ttl`, which the URL of every store may have.

use core::time::Duration;
use std::borrow::Cow;

use super::StoreUrl;
use super::engines::forms;
use randflake_lease::date;
use randflake_lease::unstable::url::{MAX_TTL_OPTION, refused};
use randflake_lease::{MAX_TTL_LIMIT, Namespace, StoreError};

/// A URL without the option, and what the option says. No error shows any of it: it may be part of a password.
pub(super) fn split(url: &str) -> Result<(Cow<'_, str>, Option<Duration>), StoreError> {
    // Taken out before the URL is parsed: it is of the namespace, and no scheme lists it.
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let value = |part: &'_ str| {
        part.strip_prefix(MAX_TTL_OPTION)?
            .strip_prefix('=')
            .map(str::to_owned)
    };
    let found: Vec<_> = query.split('&').filter_map(value).collect();
    let text = match &*found {
        [] => return Ok((Cow::Borrowed(url), None)),
        [text] => text,
        // Which one counts would be a guess, and two processes might guess differently.
        _ => return Err(refused("has the option max_ttl twice", &forms())),
    };
    let time = date::duration(text).filter(|time| !time.is_zero() && *time <= MAX_TTL_LIMIT);
    let time = time.ok_or_else(|| {
        let why =
            "has a max_ttl that is no time above 0 and up to 14610 days, such as 90s, 15m or 1h";
        refused(why, &forms())
    })?;
    let others = query.split('&').filter(|part| value(part).is_none());
    let rest = others.collect::<Vec<_>>().join("&");
    let url = match &*rest {
        "" => place.to_owned(),
        rest => format!("{place}?{rest}"),
    };
    Ok((Cow::Owned(url), Some(time)))
}

impl StoreUrl {
    /// The longest TTL that the option `max_ttl` says, if it is there.
    #[must_use]
    pub fn max_ttl(&self) -> Option<Duration> {
        self.max_ttl
    }

    /// The namespace with the longest TTL of this URL.
    pub(super) fn terms_of(&self, namespace: &Namespace) -> Result<Namespace, StoreError> {
        let Some(asked) = self.max_ttl else {
            return Ok(namespace.clone());
        };
        let set = namespace.clone().with_max_ttl(asked);
        // A namespace that says nothing has the default, which the URL may replace.
        if namespace.terms().max_ttl_ms.is_some() && set.max_ttl() != namespace.max_ttl() {
            return Err(StoreError::Invalid(format!(
                "the lease store's URL has a max_ttl of {}, and the namespace is opened with a longest TTL of {}: say it in \
                 one place, or the same in both",
                date::span(set.max_ttl()),
                date::span(namespace.max_ttl())
            )));
        }
        Ok(set)
    }
}
