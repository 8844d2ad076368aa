//! Leases and counters in an etcd cluster.

mod acquire;
mod client;
mod clock;
mod counter;
mod free;
mod record;
mod session;
#[cfg(feature = "etcd-tls")]
#[path = "tls/enabled.rs"]
mod tls;
#[cfg(not(feature = "etcd-tls"))]
#[path = "tls/disabled.rs"]
mod tls;
mod transaction;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;

use self::client::{Client, not_understood};
use self::record::{Keys, Lease};
use self::session::{TRIES, text, too_busy};
use self::transaction::{Header, Kv, Range, Write};
use super::url::{Engine, Server};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// etcd refuses more than 128 requests in a transaction; a grant's key and its page's note are two.
const GRANTS_AT_ONCE: usize = 60;
/// How many leases are listed with one request.
const LISTED_AT_ONCE: u64 = 4_096;

/// A store of leases and counters in an etcd cluster, 3.4 or newer, shared by the processes of many machines.
///
/// It speaks to the members' JSON gateways, one after another until one answers. Each operation reads
/// what it needs at one moment, and writes if nothing of that has changed since. A request has a
/// twelfth of the TTL, at most 5 s. Compaction must be on (`--auto-compaction-retention`), or the
/// renewals fill the cluster's space: then nothing is granted or renewed ([`StoreError::Unusable`]) until it
/// has space again and the alarm `NOSPACE` is disarmed. What was granted before is kept.
///
/// A user's token that has expired, or that is older than the last change of users and roles, is replaced by
/// a new login within the same operation.
///
/// **Clock.** etcd has none, so it is that of the member that answers, as the `Date` of its replies
/// shows it, carried on between the seconds by the monotonic clock here.
///
/// **At once.** Up to 40 node ids are granted in one transaction. More may be granted in several; if the
/// process is killed between these, some are taken until their leases end, and nobody uses them.
///
/// **Finding a free node id.** One page of 256 is looked at, at random, which is enough up to 99 %
/// occupancy for most. Of each page in which none is free a note says until when, so that who has no luck
/// reads which pages are worth a look, and a full namespace is refused by the notes alone.
///
/// # What it notices
///
/// | what happened                                              | what it does                     |
/// |------------------------------------------------------------|----------------------------------|
/// | the namespace is not there, nor are leases of it           | grants at once                   |
/// | restored into a cluster of another id                      | fenced; what is held goes on     |
/// | set back, and a process runs that has seen a later state   | fenced, by that process          |
/// | the namespace deleted, and leases or such a process left   | fenced                           |
///
/// Fenced is [`StoreError::Fenced`]: for the longest TTL and 10 s.
///
/// A [counter](crate::segment) is one more key. No time heals one that may have gone back, and no sign
/// tells a new cluster from one whose keys were deleted. So each counter is begun by somebody, with
/// [`resume`](SegmentStore::resume); and in a cluster of another id, or one that was set back while a
/// process ran, it is refused as [`StoreError::CounterLost`] until somebody says where it goes on.
///
/// # What it cannot notice
///
/// - A snapshot restored with the same cluster token and members, which gives the same id: call
///   [`fence`](LeaseStore::fence) (`randflake lease fence`) before any process uses it, and
///   [`resume`](SegmentStore::resume) (`randflake segment resume`) each counter further on.
/// - All keys deleted while no process runs that has seen them.
///
/// ```no_run
/// use randflake_std::lease::{EtcdStore, Namespace};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let store = EtcdStore::open("etcd://user:password@etcd-1:2379,etcd-2:2379", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("/etc/orders/randflake.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EtcdStore {
    client: Client,
    keys: Keys,
    namespace: Namespace,
    /// In the place of the member's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// As the namespace has it: it keeps that when it has to be created anew.
    max_ttl: Duration,
    was_seen: bool,
    /// The cluster's latest revision, and the latest end of a lease, that this process has seen.
    seen_revision: u64,
    seen_end: u64,
    /// The cluster's latest revision at which this process has seen the counter.
    counter_revision: u64,
}

impl EtcdStore {
    /// Opens the store in the cluster of a URL, `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]`,
    /// and creates the namespace if it is not there. `etcds://` is with TLS, which needs the cargo
    /// feature `etcd-tls`; [`open`](super::open) says which certificates are trusted, and how to name the
    /// client's. The port is 2379 unless given.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when a member's certificate is not
    /// trusted, or the cluster refuses the user, or has the namespace with another layout or of a newer version.
    /// [`StoreError::Unavailable`] when no member answers.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Etcd)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::opened(server, namespace, None)
    }

    /// [`open`](EtcdStore::open) with another clock than the members', for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](EtcdStore::open).
    pub fn open_with_clock<C>(
        url: &str,
        namespace: &Namespace,
        clock: Arc<C>,
    ) -> Result<Self, StoreError>
    where
        C: Clock + Send + Sync + 'static,
    {
        Self::opened(&Server::at(url, Engine::Etcd)?, namespace, Some(clock))
    }

    fn opened(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        let mut store = Self {
            client: Client::new(server)?,
            keys: Keys::of(namespace),
            namespace: namespace.clone(),
            clock,
            max_ttl: namespace.max_ttl(),
            was_seen: false,
            seen_revision: 0,
            seen_end: 0,
            counter_revision: 0,
        };
        store.max_ttl = store.view(&[])?.max_ttl();
        Ok(store)
    }

    /// Changes leases as the closure says, which is told of each grant's lease if it is still its
    /// holder's, until nobody else has changed them meanwhile. A renewal has a TTL, a release none.
    fn change(
        &mut self,
        grants: &[Grant],
        ttl: Option<u64>,
        change: impl Fn(&session::View, &Grant, &mut Lease) -> bool,
    ) -> Result<(Vec<Option<u64>>, Duration), StoreError> {
        let pages = self.pages_of(grants);
        let read_pages = if ttl.is_some() { &*pages } else { &[] };
        let leases = grants.iter();
        let leases = leases.map(|grant| Range::Key(self.keys.lease(u64::from(grant.node_id))));
        let notes = read_pages
            .iter()
            .map(|&page| Range::Key(self.keys.note(page)));
        let ranges: Vec<_> = leases.chain(notes).collect();
        for _ in 0..TRIES {
            let view = self.view(&ranges)?;
            let (found, notes) = view.found.split_at(grants.len());
            // A grant may be named twice.
            let mut leases = BTreeMap::new();
            for kv in found.iter().flat_map(|found| &found.kvs) {
                let lease = Lease::read(&kv.key, &kv.value).ok_or_else(not_understood)?;
                leases.insert(lease.grant.node_id, (kv, lease, false));
            }
            let mut ends = Vec::with_capacity(grants.len());
            for grant in grants {
                let known = leases.get_mut(&grant.node_id);
                ends.push(known.and_then(|(_, lease, changed)| {
                    let done = lease.is_of(grant) && change(&view, grant, lease);
                    *changed |= done;
                    done.then_some(lease.grant.end)
                }));
            }
            let mut write = Write::default();
            for (kv, lease, _) in leases.values().filter(|(_, _, changed)| *changed) {
                write
                    .compare(&kv.key, kv.revision)
                    .put(&kv.key, &lease.to_value());
            }
            if ttl.is_none() && !write.is_empty() {
                for &page in &pages {
                    write.put(&self.keys.note(page), &free::note(free::NOTHING_KNOWN));
                }
            }
            let latest = ends.iter().flatten().max().copied().unwrap_or(0);
            if write.is_empty() || self.write(&write)? {
                self.seen_end = self.seen_end.max(latest);
                let soon = view.now.tick.saturating_add(ttl.unwrap_or(0) / 2);
                let reached = free::reached(notes, soon)?;
                // The renewal is done, whatever becomes of the notes.
                _ = self.renew_notes(&reached, view.now.tick);
                return Ok((ends, view.now.unix));
            }
        }
        Err(too_busy())
    }

    /// Those that have notes.
    fn pages_of(&self, grants: &[Grant]) -> Vec<u64> {
        if self.pages() == 1 {
            return Vec::new();
        }
        let pages = grants.iter().map(|grant| free::page_of(grant.node_id));
        let mut pages: Vec<_> = pages.collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// A TTL in ticks as a time span.
    fn span(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks.saturating_mul(self.namespace.spec().tick_ms()))
    }
}

impl Debug for EtcdStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore")
            .field("members", &self.client)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for EtcdStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        StoreError::check(request, &self.namespace, self.max_ttl)?;
        self.client.limit_for(self.span(request.ttl));
        self.acquire_at_some_time(request)
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        StoreError::check_ttl(ttl, &self.namespace, self.max_ttl)?;
        self.client.limit_for(self.span(ttl));
        let mut renewed = Renewed {
            ends: Vec::with_capacity(grants.len()),
            now: Duration::ZERO,
        };
        if grants.is_empty() {
            renewed.now = self.view(&[])?.now.unix;
        }
        for grants in grants.chunks(GRANTS_AT_ONCE) {
            let (ends, now) = self.change(grants, Some(ttl), |view, _, lease| {
                let is_live = view.now.tick < lease.grant.end;
                if is_live {
                    lease.grant.end = lease.grant.end.max(view.now.extended(ttl));
                }
                is_live
            })?;
            renewed.ends.extend(ends);
            renewed.now = now;
        }
        Ok(renewed)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        for grants in grants.chunks(GRANTS_AT_ONCE) {
            self.change(grants, None, |_, grant, lease| {
                let Grant { start, end, .. } = lease.grant;
                lease.grant.end = grant.end.min(end).max(start);
                lease.held = false;
                true
            })?;
        }
        Ok(())
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let node_ids = self.namespace.node_ids();
        let mut records = Vec::new();
        let mut revision = 0;
        let mut from = 0;
        while from < node_ids {
            let to = (from + LISTED_AT_ONCE).min(node_ids);
            let range = Range::All(self.keys.lease(from), self.keys.lease(to), revision);
            let (Header { revision: at, .. }, found) = self.client.read(&[range])?;
            if revision == 0 {
                revision = at;
            }
            for Kv { key, value, .. } in found.iter().flat_map(|found| &found.kvs) {
                let lease = Lease::read(key, value).ok_or_else(not_understood)?;
                records.push(lease.into_record());
            }
            from = to;
        }
        Ok(records)
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        let key = self.keys.namespace();
        for _ in 0..TRIES {
            let view = self.view(&[])?;
            let header = Header {
                cluster_id: view.stored.cluster_id.clone(),
                revision: 0,
            };
            let raised = self.fenced(&view.stored, &header, view.now);
            let left = view.now.until(raised.fence);
            let mut write = Write::default();
            write
                .compare(&key, view.revision)
                .put(&key, &text(&raised)?);
            if self.write(&write)? {
                return Ok(left);
            }
        }
        Err(too_busy())
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        self.client.read(&[Range::Key(self.keys.namespace())])?;
        self.read_clock()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let status = self
            .client
            .call("maintenance/status", &serde_json::json!({}))?;
        let shown = |name: &str| {
            let value = status.get(name).and_then(serde_json::Value::as_str);
            value.unwrap_or("unknown").to_owned()
        };
        let view = self.view(&[])?;
        Ok(vec![
            Finding::fine("server", format!("etcd {}", shown("version"))),
            Finding::fine("schema", format!("version {}", view.stored.version)),
            Finding::fine("fingerprint", format!("cluster {}", view.stored.cluster_id)),
            Finding::caution(
                "restore",
                format!("{} bytes", shown("dbSize")),
                "a snapshot restored with the same token and members is not noticed: run `randflake lease \
                 fence` then; and compaction must be on",
            ),
            Finding::fence(view.now.fence_left(view.stored.fence)),
        ])
    }
}
