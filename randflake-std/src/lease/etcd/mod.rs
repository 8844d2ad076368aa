//! Leases and counters in an etcd cluster.

mod client;
mod clock;
mod counter;
mod free;
mod keys;
#[cfg(feature = "etcd-tls")]
#[path = "tls/enabled.rs"]
mod tls;
#[cfg(not(feature = "etcd-tls"))]
#[path = "tls/disabled.rs"]
mod tls;
mod transaction;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use randflake_core::Clock;

use self::client::{Client, not_understood};
use self::free::Look;
use self::keys::{Keys, number_of};
use self::transaction::{Found, Header, Kv, OPERATIONS, Outcome, Range, Write};
#[cfg(doc)]
use super::LeaseStore;
use super::url::{Engine, Server};
use super::{Finding, Namespace, StoreError};
use crate::clock::ExactSystemClock;
use crate::ledger::{
    Backend, Change, Committed, Continuity, Ledger, NamespaceRecord, Node, NodeRecord, VERSION,
    View, Wanted, read_clock,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// Node ids of one change: with the namespace's key they leave a fifth of a transaction for the notes of pages.
const AT_ONCE: usize = 100;
/// Records of one reply.
const LISTED_AT_ONCE: usize = 4_096;
/// How often a setback is counted anew because others were faster.
const TRIES: usize = 100;

/// A store of leases and counters in an etcd cluster, 3.4 or newer, shared by the processes of many machines.
///
/// It talks to the members' JSON gateways, and tries the next member if one does not answer. It stores a key for each
/// node id that was ever leased, and a few for the namespace. An acquire and a renewal read what they need at one
/// moment, and write if nothing of that has changed since: two round trips. A request times out after a twelfth of
/// the TTL, at most 5 s. Compaction must be on (`--auto-compaction-retention`), or the renewals fill the cluster's
/// space: then nothing is granted or renewed ([`StoreError::Unusable`]) until it has space again and the alarm
/// `NOSPACE` is disarmed. What was granted before is kept.
///
/// A user's token that has expired, or that is older than the last change of users and roles, is replaced by a new
/// login within the same operation.
///
/// **Clock.** etcd has none. It is that of the member that answers, as the `Date` of its replies shows it, carried on
/// between the seconds by the monotonic clock here. It must be within 10 s of this machine's.
///
/// **At once.** An acquire gets up to 100 node ids, because etcd limits a transaction to 128 operations.
///
/// **Finding a free node id.** One page of 256 is read, at random, which is enough for most up to 99 % occupancy.
/// Each full page gets a note that says until when, so that other pages are found by their notes, and a full
/// namespace is refused by the notes alone.
///
/// # What it notices
///
/// | what happened                                             | what it does                           |
/// |-----------------------------------------------------------|----------------------------------------|
/// | the namespace is missing, and no leases of it are there   | grants at once                         |
/// | restored into a cluster of another id                     | quarantine; what is held goes on       |
/// | set back, and a process runs that has seen a later state  | quarantine, by that process            |
/// | set back, and a live lease has vanished                   | quarantine, by the lease's holder      |
/// | the namespace deleted, and leases or such a process left  | quarantine                             |
/// | the clocks of member and machine differ by more than 10 s | [`StoreError::ClockSkew`]              |
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s; without the namespace's record at least
/// 320 s, because it is not known which TTL that allowed.
///
/// A [counter](crate::segment) is one more key. No time heals one that may have gone back, and no sign tells a new
/// cluster from one whose keys were deleted. So each counter is begun by an administrator, with
/// [`resume`](SegmentStore::resume); and in a cluster of another id, or one that was set back while a process ran, it
/// is refused as [`StoreError::CounterLost`] until the administrator says where it goes on.
///
/// # What it cannot notice
///
/// - A snapshot restored with the same cluster token and members, which gives the same id, while no process runs that
///   has seen a later state: call [`quarantine`](LeaseStore::quarantine) (`randflake lease quarantine`) before any
///   process uses it, and [`resume`](SegmentStore::resume) (`randflake segment resume`) each counter further on.
/// - All keys deleted while no process runs that has seen them.
/// - Members that do not write to their disks (`--unsafe-no-fsync`) and lose power.
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
pub type EtcdStore = Ledger<Etcd>;

/// One namespace of a cluster.
pub struct Etcd {
    client: Client,
    keys: Keys,
    namespace: Namespace,
    /// In the place of the member's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// The cluster's latest revision that this process has seen.
    revision: u64,
    /// Of each key that the last operation has read.
    revisions: BTreeMap<String, u64>,
    /// Pages in which it has looked for free node ids.
    looks: Vec<Look>,
    /// Another client was faster, or a guess was wrong.
    has_collided: bool,
    /// Node ids that this process has leased.
    written: BTreeSet<u32>,
}

impl Ledger<Etcd> {
    /// Opens the store in the cluster of a URL, `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]`. `etcds://` is
    /// with TLS, which needs the cargo feature `etcd-tls`; [`open`](super::open) says which certificates are trusted,
    /// and how to name the client's. The port is 2379 unless given.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when a member's certificate is not
    /// trusted, or the cluster refuses the user, or has the namespace with other terms or of a newer version.
    /// [`StoreError::Unavailable`] when no member answers.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, Engine::Etcd)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let etcd = Etcd::new(server, namespace, None)?;
        let mut store =
            Self::over(etcd, namespace.clone()).compared_with(Arc::new(ExactSystemClock));
        store.check()?;
        Ok(store)
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
        let etcd = Etcd::new(&Server::at(url, Engine::Etcd)?, namespace, Some(clock))?;
        let mut store = Self::over(etcd, namespace.clone());
        store.check()?;
        Ok(store)
    }
}

impl Etcd {
    fn new(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            client: Client::new(server)?,
            keys: Keys::of(namespace),
            namespace: namespace.clone(),
            clock,
            revision: 0,
            revisions: BTreeMap::new(),
            looks: Vec::new(),
            has_collided: false,
            written: BTreeSet::new(),
        })
    }

    /// Reads keys, and says what the cluster is known by: its id, and how often it was seen to be set back.
    fn get(&mut self, ranges: &[Range]) -> Result<(String, Vec<Found>), StoreError> {
        let mut all = Vec::with_capacity(ranges.len());
        let mut chunks = ranges.chunks(OPERATIONS - 1);
        loop {
            let (fingerprint, found) = self.get_some(chunks.next().unwrap_or(&[]))?;
            all.extend(found);
            if chunks.len() == 0 {
                let kvs = all.iter().flat_map(|found| &found.kvs);
                self.revisions
                    .extend(kvs.map(|kv| (kv.key.clone(), kv.revision)));
                return Ok((fingerprint, all));
            }
        }
    }

    fn get_some(&mut self, ranges: &[Range]) -> Result<(String, Vec<Found>), StoreError> {
        let key = self.keys.setbacks();
        let ranges = [ranges, &[Range::Key(key.clone())]].concat();
        for _ in 0..TRIES {
            let (header, mut found) = self.client.read(&ranges)?;
            let counted = found.pop().and_then(|mut found| found.kvs.pop());
            let (setbacks, revision) = match &counted {
                Some(kv) => (kv.value.parse().map_err(|_| not_understood())?, kv.revision),
                None => (0_u64, 0),
            };
            if header.revision >= self.revision {
                self.revision = header.revision;
                return Ok((format!("{}:{setbacks}", header.cluster_id), found));
            }
            let mut write = Write::default();
            write
                .compare(&key, revision)
                .put(&key, &(setbacks + 1).to_string());
            if let (Header { revision, .. }, Outcome::Written) = self.client.write(&write)? {
                self.revision = revision;
            }
        }
        Err(StoreError::unavailable(
            "other clients of the etcd cluster were faster each time",
        ))
    }

    fn write(&mut self, write: &Write) -> Result<Outcome, StoreError> {
        let (header, outcome) = self.client.write(write)?;
        self.revision = self.revision.max(header.revision);
        Ok(outcome)
    }

    /// Of a key, as the last operation has read it; 0 if it was not there.
    fn revision_of(&self, key: &str) -> u64 {
        self.revisions.get(key).copied().unwrap_or(0)
    }

    /// The clock of the test, or of the member that answered last.
    fn now(&self) -> Result<Duration, StoreError> {
        if let Some(clock) = &self.clock {
            return read_clock(&**clock);
        }
        let now = self.client.clock.now();
        now.ok_or_else(|| StoreError::unavailable("the etcd cluster's replies have no date"))
    }

    fn namespace_of(&self, kv: &Kv) -> Result<NamespaceRecord, StoreError> {
        NamespaceRecord::from_text(&kv.value).map_err(|why| {
            let name = self.namespace.name();
            StoreError::Unusable(format!(
                "the namespace {name:?} of this etcd cluster: {why}"
            ))
        })
    }

    fn node(kv: &Kv) -> Result<Node, StoreError> {
        let node_id = number_of(&kv.key);
        let record = node_id.and_then(|node_id| NodeRecord::from_text(node_id, &kv.value));
        let record = record.ok_or_else(|| {
            StoreError::Unusable(format!(
                "the etcd cluster's key {:?} is damaged or another program's",
                kv.key
            ))
        })?;
        Ok(Node {
            node_id: record.node_id,
            record: Some(record),
        })
    }

    /// Leases of the namespace from a node id on.
    fn leases(&self, from: u32, limit: usize, revision: u64) -> Range {
        let (first, last) = (self.keys.lease(from), self.keys.lease(u32::MAX));
        Range::Keys(first, last, limit, revision)
    }
}

impl Backend for Etcd {
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError> {
        self.revisions.clear();
        self.looks.clear();
        let asked: BTreeSet<_> = wanted.nodes.iter().copied().collect();
        let page = self.random_page()?;
        let mut ranges = vec![Range::Key(self.keys.namespace())];
        if wanted.free > 0 {
            ranges.extend(self.look_ranges(page, wanted.free));
        }
        let first_node = ranges.len();
        let nodes = asked.iter();
        ranges.extend(nodes.map(|node_id| Range::Key(self.keys.lease(*node_id))));
        let (fingerprint, mut found) = self.get(&ranges)?;
        let now = self.now()?;
        let tick = self.namespace.spec().tick_at(now).unwrap_or(0);

        let mut nodes = Vec::with_capacity(asked.len() + wanted.free);
        for (node_id, found) in asked.iter().zip(found.drain(first_node..)) {
            let absent = Node {
                node_id: *node_id,
                record: None,
            };
            nodes.push(found.kvs.first().map_or(Ok(absent), Self::node)?);
        }
        let mut free_from = None;
        if let [_, note, leases] = &found[..] {
            let first = self.look(page, [note, leases], tick, wanted.free)?;
            let first = self.fill_gaps(first, tick, wanted.free)?;
            self.looks.push(first);
            free_from = self.search(tick, wanted.free)?;
            nodes.extend(self.choose(wanted.free, &asked)?);
        }
        let namespace = found.first().and_then(|found| found.kvs.first());
        let namespace = namespace.map(|kv| self.namespace_of(kv)).transpose()?;
        let is_absence_certain = match namespace {
            Some(_) => false,
            None => self.get(&[self.leases(0, 1, 0)])?.1[0].count == 0,
        };
        Ok(View {
            now,
            continuity: Continuity {
                fingerprint,
                is_absence_certain,
                known_end_unix_ms: 0,
                fault: None,
            },
            namespace,
            nodes,
            is_sole: false,
            free_from,
        })
    }

    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError> {
        let namespace = self.keys.namespace();
        let mut write = Write::default();
        write.compare(&namespace, self.revision_of(&namespace));
        let mut last = None;
        if let Some(after) = &change.namespace_after {
            write.put(&namespace, &after.to_text());
            last = Some((namespace, after.to_text()));
        }
        for after in change.nodes.iter().map(|node| &node.after) {
            let (key, text) = (self.keys.lease(after.node_id), after.to_text());
            write.compare(&key, self.revision_of(&key)).put(&key, &text);
            last = Some((key, text));
            self.written.insert(after.node_id);
        }
        self.note(&mut write, change);
        if let Some((key, _)) = &last {
            write.or_read(key.clone());
        }
        let is_written = match self.write(&write)? {
            Outcome::Written => true,
            // One member wrote it and did not answer; then another was asked.
            Outcome::Refused(Some(found)) => last == Some((found.key, found.value)),
            Outcome::Refused(None) => false,
        };
        self.has_collided = !is_written;
        if !is_written {
            return Ok(Committed::Stale);
        }
        Ok(Committed::Done { now: self.now()? })
    }

    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError> {
        let (mut records, mut from, mut revision) = (Vec::new(), Some(0), 0);
        while let Some(first) = from {
            let range = self.leases(first, LISTED_AT_ONCE, revision);
            let (header, found) = self.client.read(&[range])?;
            if revision == 0 {
                // All of it as it was at the first reply.
                revision = header.revision;
            }
            let found = found.first().ok_or_else(not_understood)?;
            for kv in &found.kvs {
                records.extend(Self::node(kv)?.record);
            }
            let last = records.last().map(|record| record.node_id);
            let is_all = found.count <= found.kvs.len() as u64;
            from = last
                .filter(|_| !is_all)
                .and_then(|last| last.checked_add(1));
        }
        Ok(records)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let status = self
            .client
            .call("maintenance/status", &serde_json::json!({}))?;
        let shown = |name: &str| {
            let value = status.get(name).and_then(serde_json::Value::as_str);
            value.unwrap_or("unknown").to_owned()
        };
        let (fingerprint, _) = self.get(&[])?;
        Ok(vec![
            Finding::fine("server", format!("etcd {}", shown("version"))),
            Finding::fine("schema", format!("version {VERSION}")),
            Finding::fine("fingerprint", format!("cluster {fingerprint}")),
            Finding::caution(
                "restore",
                format!("{} bytes", shown("dbSize")),
                "a snapshot restored with the same token and members is not always noticed: run `randflake lease \
                 quarantine` then; and compaction must be on",
            ),
        ])
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.client.limit_for(ttl);
    }
}

impl Debug for Etcd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd")
            .field("members", &self.client)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
