//! Identities of clients: the owner of a token, or anybody.

use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_std::date::{span, utc};

use super::weight::{Weight, small_per_second};
use super::{Hash, Limit, Pattern, Quota, Scope};
use crate::serve::service::refusal::{Refusal, RefusalKind};
use crate::serve::service::store_sessions::Turns;

/// Identity of a client: the owner of a token, or anybody where none is needed.
#[derive(Debug)]
pub(crate) struct Identity {
    name: String,
    /// Hash of the token; `None` for anybody.
    hash: Option<Hash>,
    scopes: Vec<Scope>,
    namespaces: Vec<Pattern>,
    /// Quota of ids, shared with the same token of an earlier version of the file.
    ids: Option<Arc<Quota>>,
    requests: Option<Arc<Quota>>,
    /// Quota of requests that need neither ids nor the store.
    small: Option<Arc<Quota>>,
    leases: Option<Arc<Quota>>,
    reads: Option<Arc<Quota>>,
    /// Shared in the same way; none for anybody.
    turns: Option<Arc<Turns>>,
    /// When its token expires, as time since the Unix epoch.
    until: Option<Duration>,
    /// Node ids that it may lease; all if `None`.
    node_ids: Option<RangeInclusive<u32>>,
}

/// New leases of a token whose line has no number. A store keeps the last 65,536 leases of a node id: at this rate one token
/// takes more than 20 minutes to push out a lease of others. At once it is as many as one request may ask for.
const LEASES: Limit = Limit::new(50, 1_000);
/// The same of requests that read the store: each counts as one, a list as one for each 100 leases that it may have.
const READS: Limit = Limit::new(100, 1_000);

impl Identity {
    pub(crate) fn new(line: super::TokenLine, before: Option<&Self>) -> Self {
        let quota = |limit: Limit, used: Option<&Arc<Quota>>| {
            let same = used.filter(|quota| quota.limit() == limit);
            same.map_or_else(|| Arc::new(Quota::new(limit)), Arc::clone)
        };
        let used = |of: fn(&Self) -> &Option<Arc<Quota>>| before.and_then(|old| of(old).as_ref());
        let given = |limit: Option<NonZeroU64>| limit.map(Limit::of);
        let leases = given(line.leases_per_second).unwrap_or(LEASES);
        let reads = given(line.reads_per_second).unwrap_or(READS);
        Self {
            ids: given(line.ids_per_second).map(|limit| quota(limit, used(|old| &old.ids))),
            requests: given(line.requests_per_second)
                .map(|limit| quota(limit, used(|old| &old.requests))),
            small: given(line.requests_per_second.map(small_per_second))
                .map(|limit| quota(limit, used(|old| &old.small))),
            leases: Some(quota(leases, used(|old| &old.leases))),
            reads: Some(quota(reads, used(|old| &old.reads))),
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
            ids: None,
            requests: None,
            small: None,
            leases: None,
            reads: None,
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

    pub(super) fn is_of(&self, hash: &Hash) -> bool {
        self.hash.is_some_and(|own| own.is(hash))
    }

    pub(super) fn expires(&self) -> bool {
        self.until.is_some()
    }

    pub(super) fn has_expired(&self) -> bool {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH);
        self.until
            .is_some_and(|until| until <= now().unwrap_or_default())
    }

    /// Refuses a token that has expired. Only who has sent it is told.
    pub(crate) fn check_expiry(&self) -> Result<(), Refusal> {
        let Some(until) = self.until.filter(|_| self.has_expired()) else {
            return Ok(());
        };
        let (name, at) = (&self.name, utc(until));
        let told = format!("the token {name:?} has expired at {at}: ask for a new one");
        Err(Refusal::new(RefusalKind::WrongToken, told))
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
        let told = format!("the token {name:?} has no right to {right} in namespace {namespace:?}");
        Err(Refusal::new(RefusalKind::Forbidden, told))
    }

    /// Counts ids against its quota.
    pub(crate) fn take_ids(&self, count: usize) -> Result<(), Refusal> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.take(self.ids.as_deref(), count, "ids")
    }

    /// Counts a request against its quota.
    pub(crate) fn take_request(&self, weight: Weight) -> Result<(), Refusal> {
        match weight {
            Weight::Small => self.take(self.small.as_deref(), 1, "requests without ids"),
            Weight::Each(count) => self.take(self.requests.as_deref(), count, "requests"),
            Weight::Requests(count) => {
                let Some(quota) = self.requests.as_deref() else {
                    return Ok(());
                };
                let count = count.min(quota.limit().at_once.get());
                self.take(Some(quota), count, "requests")
            }
        }
    }

    /// Counts new leases against its quota.
    pub(crate) fn take_leases(&self, count: u32) -> Result<(), Refusal> {
        self.take(self.leases.as_deref(), count.into(), "leases")
    }

    /// Counts looks at the store against its quota.
    pub(crate) fn take_reads(&self, count: u32) -> Result<(), Refusal> {
        self.take(self.reads.as_deref(), count.into(), "reads")
    }

    fn take(&self, quota: Option<&Quota>, amount: u64, what: &str) -> Result<(), Refusal> {
        let Some(quota) = quota else {
            return Ok(());
        };
        quota.take(amount).map_err(|wait| {
            let (name, limit) = (&self.name, quota.limit().per_second);
            let told = format!("the token {name:?} has a quota of {limit} {what} a second");
            let Some(wait) = wait else {
                let told = format!("{told}, and {amount} were asked for at once: ask for fewer");
                return Refusal::new(RefusalKind::Quota, told);
            };
            let wait = wait.max(Duration::from_millis(1));
            let told = format!("{told}: try again in {}", span(wait));
            Refusal::new(RefusalKind::Quota, told).retry_in(wait)
        })
    }
}
