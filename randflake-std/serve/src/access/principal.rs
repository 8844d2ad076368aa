//! Principals, the owner of a token or anybody, and their rights: scopes in the namespaces of
//! patterns.

use core::fmt::{self, Display, Formatter};
use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;
use std::sync::Arc;

use randflake_common::date;
use randflake_std::date::{span, utc};

use super::quota::{Limit, PerQuota, Quota, QuotaKind, Turns, Weight, small_per_second};
use super::secret::Hash;
use crate::refusal::{Refusal, RefusalKind};

/// What is kept of a token.
#[derive(Clone, Debug)]
pub struct TokenLine {
    /// Whose it is.
    pub name: String,
    /// Hash of the token.
    pub hash: Hash,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// In which namespaces.
    pub namespaces: Vec<Pattern>,
    /// How many it may take of each in a second, as `ids_per_second` and its like say.
    pub quotas: PerQuota<Option<NonZeroU64>>,
    /// When it expires, as time since the Unix epoch.
    pub until: Option<Duration>,
    /// Which node ids it may lease, if not all.
    pub node_ids: Option<RangeInclusive<u32>>,
}

impl TokenLine {
    /// What tells it from another one of its name: the beginning of its hash.
    pub fn id(&self) -> String {
        self.hash.to_string().chars().take(8).collect()
    }

    /// Whether it has expired at a time since the Unix epoch.
    pub fn has_expired(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// Principal of a client: the owner of a token, or anybody where none is needed.
#[derive(Debug)]
pub(crate) struct Principal {
    name: String,
    /// Hash of the token; `None` for anybody.
    hash: Option<Hash>,
    scopes: Vec<Scope>,
    namespaces: Vec<Pattern>,
    /// Shared with the same token of an earlier version of the file: reading it again gives nobody
    /// a new burst.
    quotas: PerQuota<Option<Arc<Quota>>>,
    /// Quota of requests that need neither ids nor the store.
    small: Option<Arc<Quota>>,
    /// Shared in the same way; none for anybody.
    turns: Option<Arc<Turns>>,
    /// When its token expires, as time since the Unix epoch.
    until: Option<Duration>,
    /// Node ids that it may lease; all if `None`.
    node_ids: Option<RangeInclusive<u32>>,
}

impl Principal {
    pub(crate) fn new(line: TokenLine, before: Option<&Self>) -> Self {
        let quota = |limit: Option<Limit>, used: Option<&Arc<Quota>>| {
            let limit = limit?;
            // With another limit the old state means other amounts: then a full bucket begins.
            let same = used.filter(|quota| quota.limit() == limit);
            Some(same.map_or_else(|| Arc::new(Quota::new(limit)), Arc::clone))
        };
        let kinds = QuotaKind::ALL.iter().zip(line.quotas).enumerate();
        let mut quotas = PerQuota::default();
        for (index, ((_, usual), given)) in kinds {
            let used = before.and_then(|old| old.quotas[index].as_ref());
            quotas[index] = quota(given.map(Limit::of).or(*usual), used);
        }
        let small = line.quotas[QuotaKind::Requests as usize].map(small_per_second);
        let used = before.and_then(|old| old.small.as_ref());
        Self {
            quotas,
            // Only with a quota of requests: a token that may send any number needs no second
            // limit.
            small: quota(small.map(Limit::of), used),
            turns: Some(before.and_then(|old| old.turns.clone()).unwrap_or_default()),
            until: line.until,
            node_ids: line.node_ids,
            name: line.name,
            hash: Some(line.hash),
            scopes: line.scopes,
            namespaces: line.namespaces,
        }
    }

    pub(crate) fn anybody() -> Self {
        Self {
            name: "anybody".to_owned(),
            hash: None,
            scopes: vec![Scope::Ids, Scope::Leases, Scope::Inspect, Scope::Admin],
            namespaces: vec![Pattern::Prefix(String::new())],
            // No limits: without tokens the server listens to this machine only, see `check_reach`.
            quotas: PerQuota::default(),
            small: None,
            turns: None,
            until: None,
            node_ids: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Node ids that it may lease; all if `None`.
    pub(crate) fn node_ids(&self) -> Option<&RangeInclusive<u32>> {
        self.node_ids.as_ref()
    }

    /// How many of its requests may work with stores at the same time, if that is limited.
    pub(crate) fn turns(&self) -> Option<&Turns> {
        self.turns.as_deref()
    }

    /// Whether the client has sent a token.
    pub(crate) fn has_token(&self) -> bool {
        self.hash.is_some()
    }

    pub(crate) fn hash(&self) -> Option<&Hash> {
        self.hash.as_ref()
    }

    pub(super) fn expires(&self) -> bool {
        self.until.is_some()
    }

    pub(super) fn has_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= date::now())
    }

    /// Refuses a token that has expired. Only who has sent it is told.
    pub(crate) fn check_expiry(&self) -> Result<(), Refusal> {
        let Some(until) = self.until.filter(|_| self.has_expired()) else {
            return Ok(());
        };
        let (name, at) = (&self.name, utc(until));
        let message = format!("the token {name:?} has expired at {at}: ask for a new one");
        Err(Refusal::new(RefusalKind::WrongToken, message))
    }

    /// Whether it has a right in any namespace.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether a namespace is one of its own.
    pub(crate) fn sees(&self, namespace: &str) -> bool {
        let mut patterns = self.namespaces.iter();
        patterns.any(|pattern| pattern.matches(namespace))
    }

    /// Refuses a client without this right in the namespace.
    pub(crate) fn check(&self, scope: Scope, namespace: &str) -> Result<(), Refusal> {
        if self.has(scope) && self.sees(namespace) {
            return Ok(());
        }
        let (name, right) = (&self.name, scope.name());
        let message =
            format!("the token {name:?} has no right to {right} in namespace {namespace:?}");
        Err(Refusal::new(RefusalKind::Forbidden, message))
    }

    /// Counts ids against its quota.
    pub(crate) fn take_ids(&self, count: usize) -> Result<(), Refusal> {
        self.take(QuotaKind::Ids, u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// Counts a request against its quota.
    pub(crate) fn take_request(&self, weight: Weight) -> Result<(), Refusal> {
        match weight {
            Weight::Small => self.take_of(self.small.as_deref(), 1, "requests without ids"),
            Weight::Each(count) => self.take(QuotaKind::Requests, count),
            Weight::Requests(count) => {
                let quota = self.quotas[QuotaKind::Requests as usize].as_deref();
                // Never more than a burst has: who may send one request a second may send any.
                let most = quota.map_or(count, |quota| quota.limit().at_once.get());
                self.take(QuotaKind::Requests, count.min(most))
            }
        }
    }

    /// Counts new leases against its quota.
    pub(crate) fn take_leases(&self, count: u32) -> Result<(), Refusal> {
        self.take(QuotaKind::Leases, count.into())
    }

    /// Counts looks at the store against its quota: a list is one for each 100 leases that it may
    /// have.
    pub(crate) fn take_reads(&self, count: u32) -> Result<(), Refusal> {
        self.take(QuotaKind::Reads, count.into())
    }

    fn take(&self, kind: QuotaKind, amount: u64) -> Result<(), Refusal> {
        let (what, _) = QuotaKind::ALL[kind as usize];
        self.take_of(self.quotas[kind as usize].as_deref(), amount, what)
    }

    fn take_of(&self, quota: Option<&Quota>, amount: u64, what: &str) -> Result<(), Refusal> {
        let Some(quota) = quota else {
            return Ok(());
        };
        quota.take(amount).map_err(|wait| {
            let (name, limit) = (&self.name, quota.limit().per_second);
            let message = format!("the token {name:?} has a quota of {limit} {what} a second");
            let Some(wait) = wait else {
                let message =
                    format!("{message}, and {amount} were asked for at once: ask for fewer");
                return Refusal::new(RefusalKind::Quota, message);
            };
            // Shown in milliseconds: "try again in 0s" would be followed.
            let shown = wait.max(Duration::from_millis(1));
            let message = format!("{message}: try again in {}", span(shown));
            Refusal::new(RefusalKind::Quota, message).retry_in(shown)
        })
    }
}

/// A right, in the namespaces of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Make new ids of a namespace
    Ids,
    /// Leases: acquire, renew, release, list
    Leases,
    /// The fields of ids
    Inspect,
    /// The page, metrics, and who holds what in all of the token's namespaces
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Ids, Self::Leases, Self::Inspect, Self::Admin];

    /// Its name in the file of tokens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Leases => "leases",
            Self::Inspect => "inspect",
            Self::Admin => "admin",
        }
    }
}

/// A pattern such as `orders`, `orders-*` or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One namespace.
    Name(String),
    /// All whose names begin so.
    Prefix(String),
}

impl Pattern {
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (stem, is_prefix) = match text.strip_suffix('*') {
            Some(stem) => (stem, true),
            None => (text, false),
        };
        // Of a namespace's name. A `*` anywhere else would look as if it matched there.
        let is_name = stem
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c));
        if !is_name || stem.is_empty() && !is_prefix {
            return Err(format!(
                "{text:?} is no pattern of namespaces: a name is allowed, or the beginning of names and *"
            ));
        }
        Ok(if is_prefix {
            Self::Prefix(stem.to_owned())
        } else {
            Self::Name(stem.to_owned())
        })
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_match() {
        for (pattern, name, matches) in [
            ("orders", "orders", true),
            ("orders", "orders-2", false),
            ("orders-*", "orders-2", true),
            ("orders-*", "orders", false),
            ("*", "anything", true),
        ] {
            let read: Pattern = pattern.parse().unwrap();
            assert_eq!(read.matches(name), matches, "{pattern} {name}");
            assert_eq!(read.to_string(), pattern);
        }
        for wrong in ["", "a*b", "Orders", "a b", "**"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong:?}");
        }
    }
}
