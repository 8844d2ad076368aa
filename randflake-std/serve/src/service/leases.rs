//! Leases of clients, and numbers of counters.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;

use randflake_common::leases::{LeaseDocument, Snapshot};
use randflake_std::DEFAULT_TTL;
use randflake_std::lease::{AcquireRequest, LeaseStore, NodeIds, RequestId, Token};
use randflake_std::segment::{CounterError, CounterTerms, Segment};
use serde::Deserialize;

use super::{MAX_LEASES, Service};
use crate::access::{Principal, Scope};
use crate::refusal::{Refusal, RefusalKind};

/// Parameters of an acquire.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AcquireParameters {
    /// How many node ids; 1 unless given.
    pub(crate) count: Option<u32>,
    /// These and no others, without a count.
    pub(crate) node_ids: Option<Vec<u32>>,
    /// How long they last unless renewed, in milliseconds; 60 s unless given.
    pub(crate) ttl_ms: Option<u64>,
    /// Who has them, for people. It follows on the name of the token, which stands there in any
    /// case.
    pub(crate) holder: Option<String>,
}

/// Query for a part of the leases of a namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseQuery {
    /// First node id to list.
    pub(crate) from: u32,
    /// Most leases to list.
    pub(crate) most: u32,
    /// Whether to include expired leases.
    pub(crate) all: bool,
}

/// A page of the leases of a namespace, at a time of the store's clock.
#[derive(Debug)]
pub(crate) struct LeasePage {
    pub(crate) snapshot: Snapshot,
    /// Node id at which the next page begins.
    pub(crate) next: Option<u32>,
}

impl Default for LeaseQuery {
    fn default() -> Self {
        Self {
            from: 0,
            most: 100,
            all: false,
        }
    }
}

impl Service {
    /// Grants all that is asked for at once, or nothing.
    pub(crate) async fn acquire(
        &self,
        principal: &Principal,
        namespace: &str,
        asked: AcquireParameters,
    ) -> Result<LeaseDocument, Refusal> {
        // Rights first: who may not ask learns nothing. The quota of leases is last, since what is
        // refused takes none.
        let space = self.space(principal, Scope::Leases, namespace)?;
        let holder = holder(principal, asked.holder)?;
        let count = match (&asked.node_ids, asked.count) {
            (Some(_), Some(_)) => {
                let message = "a count and node ids were both asked for: one of them is allowed";
                return Err(Refusal::invalid(message));
            }
            (Some(node_ids), None) => u32::try_from(node_ids.len()).unwrap_or(u32::MAX),
            (None, count) => count.unwrap_or(1),
        };
        check_leases(count)?;
        let node_ids = space.leasable(principal)?;
        let most = space.namespace().spec().max_node_id();
        // What the layout does not have is for the store to refuse.
        let chosen = asked.node_ids.iter().flatten().copied();
        check_within(
            principal,
            &node_ids,
            chosen.filter(|node_id| *node_id <= most),
        )?;
        principal.take_leases(count)?;
        let ttl = asked.ttl_ms.map(Duration::from_millis);
        space
            .grant_within(principal, node_ids, move |store| {
                let namespace = store.namespace();
                let shortest = Duration::from_millis(namespace.spec().tick_ms());
                let request = AcquireRequest {
                    // Made here: with one that the client chose, a second program that sends it
                    // would get the same leases.
                    token: Token::random()
                        .map_err(|error| Refusal::new(RefusalKind::Failed, error))?,
                    holder: &holder,
                    nodes: match &asked.node_ids {
                        Some(node_ids) => NodeIds::These(node_ids),
                        None => NodeIds::Any(count),
                    },
                    ttl: namespace.ticks(ttl.unwrap_or(DEFAULT_TTL.max(shortest))),
                };
                let acquired = store.acquire(&request)?;
                Ok(LeaseDocument::of(
                    store.namespace(),
                    holder.clone(),
                    &acquired,
                ))
            })
            .await
    }

    /// Moves the ends of leases: what cannot be renewed is among `lost`.
    pub(crate) async fn renew(
        &self,
        principal: &Principal,
        document: LeaseDocument,
        request: Option<&str>,
        ttl: Option<Duration>,
    ) -> Result<LeaseDocument, Refusal> {
        let request = request_id(request)?;
        // The range may be narrower than when the lease was granted. A release needs no check: it
        // takes nothing.
        if let Some(own) = principal.node_ids() {
            check_within(
                principal,
                own,
                document.leases.iter().map(|lease| lease.node),
            )?;
        }
        self.with_grant(principal, document, move |document, store| {
            Ok(document.renewed(store, &request, ttl)?)
        })
        .await
    }

    /// Ends leases: at a Unix time from which on nothing was issued, or as late as anything may
    /// have been.
    pub(crate) async fn release(
        &self,
        principal: &Principal,
        document: LeaseDocument,
        request: Option<&str>,
        unused_from: Option<Duration>,
    ) -> Result<(), Refusal> {
        let request = request_id(request)?;
        self.with_grant(principal, document, move |document, store| {
            Ok(document.release(store, &request, unused_from)?)
        })
        .await
    }

    async fn with_grant<T: Send + 'static>(
        &self,
        principal: &Principal,
        document: LeaseDocument,
        work: impl FnOnce(LeaseDocument, &mut LeaseStore) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let space = Arc::clone(self.space(principal, Scope::Leases, &document.namespace)?);
        check_leases(u32::try_from(document.leases.len()).unwrap_or(u32::MAX))?;
        // A document of another layout has ticks that mean other times here.
        let is_other = document.check_layout(space.namespace());
        is_other.map_err(|failure| Refusal::new(RefusalKind::Conflict, failure))?;
        let done = space.with_store(principal, move |store| work(document, store));
        done.await
    }

    /// Leases of a namespace.
    pub(crate) async fn list(
        &self,
        principal: &Principal,
        namespace: &str,
        asked: LeaseQuery,
    ) -> Result<LeasePage, Refusal> {
        check_leases(asked.most)?;
        // Who leases sees who else does; who administers need not lease.
        let scope = if principal.has(Scope::Admin) {
            Scope::Admin
        } else {
            Scope::Leases
        };
        let space = self.space(principal, scope, namespace)?;
        principal.take_reads(asked.most.div_ceil(100))?;
        let LeaseQuery { from, most, all } = asked;
        let taken = space.read_store(Some(principal), move |store| {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let (snapshot, next) = Snapshot::part(store, from, most, all)?;
            Ok(LeasePage { snapshot, next })
        });
        taken.await
    }
}

/// The name of a renewal or release, without which a repetition could not be told from a copy.
fn request_id(text: Option<&str>) -> Result<RequestId, Refusal> {
    let Some(text) = text else {
        let allowed = RequestId::ALLOWED;
        return Err(Refusal::invalid(format!(
            "the request has no name (request): {allowed} are allowed"
        )));
    };
    text.parse::<RequestId>().map_err(Refusal::from)
}

fn check_leases(count: u32) -> Result<(), Refusal> {
    if (1..=MAX_LEASES).contains(&count) {
        return Ok(());
    }
    let message =
        format!("{count} leases were asked for: 1 to {MAX_LEASES} are allowed in one request");
    Err(Refusal::invalid(message))
}

/// Refuses node ids that a client may not be granted.
fn check_within(
    principal: &Principal,
    allowed: &RangeInclusive<u32>,
    mut node_ids: impl Iterator<Item = u32>,
) -> Result<(), Refusal> {
    let Some(node_id) = node_ids.find(|node_id| !allowed.contains(node_id)) else {
        return Ok(());
    };
    let (first, last) = (allowed.start(), allowed.end());
    let message = format!(
        "the token {:?} may not lease node id {node_id}: {first} to {last} are allowed",
        principal.name()
    );
    Err(Refusal::new(RefusalKind::Forbidden, message))
}

/// The name in the store's records, with a random number: two programs of one name are not taken
/// for copies.
fn holder(principal: &Principal, asked: Option<String>) -> Result<String, Refusal> {
    /// With the longest name of a token it is no longer than what a store keeps.
    // `token/`, 64 bytes of a name, a colon, these 48, and `/` with 8 digits are 128.
    const MOST: usize = 48;
    if let Some(name) = &asked {
        // Names of devices' leases are found by what they begin with.
        let is_device = name == "device" || name.starts_with("device/");
        if name.is_empty() || name.len() > MOST || name.contains(char::is_control) || is_device {
            let message = format!(
                "the holder's name {name:?} is not allowed: 1 to {MOST} bytes without control characters that do not \
                 begin with device/ are"
            );
            return Err(Refusal::invalid(message));
        }
    }
    let token = principal.name();
    let name = match asked {
        // No token's name has a colon: nobody passes for another one's owner, nor for a program
        // that has no token.
        Some(name) if principal.has_token() => format!("token/{token}:{name}"),
        Some(name) => name,
        None => format!("token/{token}"),
    };
    let random = getrandom::u32().map_err(|error| Refusal::new(RefusalKind::Failed, error))?;
    Ok(format!("{name}/{random:08x}"))
}

/// The largest number of numbers of one request. Each request is a write of the store, whatever its
/// size.
pub(crate) const MAX_NUMBERS: usize = 1_000;

/// Numbers that were reserved for a client.
pub(crate) struct IssuedNumbers {
    pub(crate) segment: Segment,
    pub(crate) terms: CounterTerms,
}

impl Service {
    /// The next numbers of a namespace's counter: all of them or none. None is kept in stock here,
    /// so there is no gap unless an answer is lost.
    pub(crate) async fn numbers(
        &self,
        principal: &Principal,
        namespace: &str,
        count: usize,
    ) -> Result<IssuedNumbers, Refusal> {
        let space = self.space(principal, Scope::Ids, namespace)?;
        if !(1..=MAX_NUMBERS).contains(&count) {
            return Err(Refusal::invalid(format!(
                "{count} numbers were asked for: 1 to {MAX_NUMBERS} are allowed in one request"
            )));
        }
        principal.take_ids(count)?;
        space
            .with_store(principal, move |store| {
                let segment = store.counter().reserve(count as u64)?;
                let terms = store.counter().terms().unwrap_or_default();
                Ok(IssuedNumbers { segment, terms })
            })
            .await
    }
}

impl From<CounterError> for Refusal {
    fn from(error: CounterError) -> Self {
        let refusal = match &error {
            CounterError::Full {
                passes_in, message, ..
            }
            | CounterError::Ahead {
                passes_in, message, ..
            } => Self::new(RefusalKind::Busy, message).retry_in(*passes_in),
            CounterError::Invalid(sentence) => Self::invalid(sentence),
            CounterError::Unavailable(_) => {
                let message = "the lease store does not answer: whether numbers were reserved is unknown, and a repetition \
                               leaves a gap";
                Self::new(RefusalKind::Unavailable, message)
            }
            CounterError::Lost { reached: 0, .. } => {
                let message = "the namespace has no counter: an operator begins it with `randflake segment init`";
                Self::new(RefusalKind::Failed, message)
            }
            CounterError::Lost { .. } | CounterError::Rewound { .. } => {
                let message = "the counter may have gone back: an operator says where it goes on, with `randflake segment \
                               resume`";
                Self::new(RefusalKind::Failed, message)
            }
            _ => Self::new(RefusalKind::Failed, "the lease store cannot be used"),
        };
        // Its own message may name the store's host: for the log.
        let is_whole = matches!(refusal.kind, RefusalKind::Busy | RefusalKind::Invalid);
        let detail = (!is_whole).then(|| error.to_string());
        Self { detail, ..refusal }
    }
}
