//! Leases and counters in an etcd cluster.

mod client;
mod clock;
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
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;
use serde_json::{Value, json};

use self::client::{Client, not_understood};
use self::keys::Prefix;
use self::transaction::{Kv, OPERATIONS, Outcome, Range, Transaction};
#[cfg(doc)]
use super::LeaseStore;
use super::url::{self, Server};
use super::{EngineError, Finding, Namespace, StoreError};
use crate::ledger::{
    Before, Committed, Continuity, Engine, Entry, Key, Keys, Ledger, Reading, VERSION, Write,
    read_clock,
};
#[cfg(doc)]
use crate::segment::SegmentStore;

/// Node ids of one write: with the namespace's key and the setbacks they leave a fifth of a transaction for hints. Of
/// those that follow on a release there may be one for each.
const AT_ONCE: usize = 100;
/// How often a setback is counted anew because others were faster.
const TRIES: usize = 100;

/// A store of leases and counters in an etcd cluster, 3.4 or newer, shared by the processes of many machines.
///
/// It uses the members' JSON gateways, and tries the next member if one does not answer. Each of these has one key: the
/// namespace's record, its counter, each node id from its first lease on, each page of 64 node ids that was found full, and
/// nine hints to free node ids; and each earlier lease of the [history](LeaseStore::history).
/// An acquire and a renewal read what they need at one revision, and write if none of it has changed since: two round
/// trips; an acquire needs more when nearly all node ids are leased and none was released lately.
///
/// A request times out after a twelfth of the TTL, at most 5 s. Enable compaction (`--auto-compaction-retention`), or the
/// renewals fill the cluster's space. When it is full, every operation fails as [`StoreError::Unusable`] until there is
/// space again and the alarm `NOSPACE` is disarmed; leases granted before are kept.
///
/// If a user's token has expired, or is older than the last change of users and roles, the store logs in again within the
/// same operation.
///
/// **Clock.** etcd has no clock. The store takes the time from the `Date` header of the member's replies, and carries it on
/// between the seconds with this machine's monotonic clock. It must be within 10 s of this machine's wall clock.
///
/// **Limit.** An acquire gets up to 100 node ids, because etcd limits a transaction to 128 operations.
///
/// # What it notices
///
/// | what happened                                             | what it does                           |
/// |-----------------------------------------------------------|----------------------------------------|
/// | the namespace is missing, and has no leases               | grants at once                         |
/// | restored into a cluster of another id                     | quarantine; live leases can be renewed |
/// | set back, and a process runs that has seen a later state  | quarantine, by that process            |
/// | set back, and a live lease has vanished                   | quarantine, by the lease's holder      |
/// | set back between a read and its write                     | the write fails; quarantine            |
/// | the namespace deleted, and leases left                    | quarantine                             |
/// | all deleted, and a process runs that has seen them        | quarantine, by that process            |
/// | the clocks of member and machine differ by more than 10 s | [`StoreError::ClockSkew`]              |
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s; if the namespace's record is missing, at least
/// 320 s, because its longest TTL is unknown.
///
/// A [counter](crate::segment) is one more key. A counter that may have gone back cannot be repaired by waiting, and nothing
/// tells a new cluster from one whose keys were deleted. So an operator starts each counter with
/// [`resume`](SegmentStore::resume). In a cluster of another id, or one that was set back while a process ran, it fails as
/// [`CounterError::Lost`](crate::segment::CounterError::Lost) until an operator resumes it.
///
/// # What it cannot notice
///
/// - A snapshot restored with the same cluster token and members, which gives the same id, while no process runs that has
///   seen a later state: call [`quarantine`](LeaseStore::quarantine) (`randflake lease quarantine`) before any process uses
///   it, and [`resume`](SegmentStore::resume) (`randflake segment resume`) each counter at a higher number.
/// - The same with `--bump-revision`, by which a restored snapshot shows later revisions than the ones that were lost: only
///   the holder of a lease that it does not have notices, when it renews.
/// - All keys deleted: a process that has not seen them grants at once, until one that has seen them asks. Stop all
///   processes before keys are deleted.
/// - Members that do not write to their disks (`--unsafe-no-fsync`) and lose power.
/// ```no_run
/// use randflake_std::lease::{EtcdStore, Namespace};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = EtcdStore::open("etcd://user:password@etcd-1:2379,etcd-2:2379", &namespace)?;
/// let ids = Handle::builder(&Secret::from_file("/etc/orders/randflake.key")?, store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type EtcdStore = Ledger<Etcd>;

/// One namespace of a cluster.
pub struct Etcd {
    client: Client,
    prefix: Prefix,
    /// In the place of the member's.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// The cluster's latest revision that this process has seen.
    revision: u64,
}

impl EtcdStore {
    /// Opens the store in the cluster of a URL, `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]`. `etcds://` is
    /// with TLS, which needs the cargo feature `etcd-tls`; [`open`](super::open) says which certificates are trusted,
    /// and how to name the client's. The port is 2379 unless given.
    ///
    /// It blocks: see [how long](super#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for another URL. [`StoreError::Unusable`] when a member's certificate is not
    /// trusted, or the cluster refuses the user, or has the namespace with other terms or of a newer version.
    /// [`StoreError::Unavailable`] when no member answers.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, url::Engine::Etcd)?, namespace, None)
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
        Self::at(&Server::at(url, url::Engine::Etcd)?, namespace, Some(clock))
    }

    pub(crate) fn at(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Self::opened(Etcd::over(server, namespace, clock)?, namespace.clone())
    }
}

impl Etcd {
    /// Nothing is asked yet.
    pub(in crate::lease) fn over(
        server: &Server,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            client: Client::new(server)?,
            prefix: Prefix::of(namespace.name()),
            clock,
            revision: 0,
        })
    }

    /// The first namespace whose keys are not before one.
    fn next_name(&mut self, first: &str) -> Result<Option<String>, EngineError> {
        let range = Range::new(first.to_owned(), Prefix::LAST.to_owned());
        let (_, kvs) = self.client.read(&[range.limited(1)])?;
        Ok(kvs.first().and_then(|(key, _)| Prefix::name_in(key)))
    }

    /// Reads at one moment, and says what the cluster is known by: its id, and how often it was seen to be set back.
    fn look(&mut self, ranges: &[Range]) -> Result<(String, Vec<Kv>), EngineError> {
        let setbacks = self.prefix.setbacks();
        let ranges = [ranges, &[Range::one(setbacks.clone())]].concat();
        for _ in 0..TRIES {
            let (header, mut kvs) = self.client.read(&ranges)?;
            let counted = kvs.pop_if(|(key, _)| *key == setbacks);
            let counted = counted.map(|(_, count)| count);
            let count = counted.as_deref().unwrap_or("0").parse::<u64>();
            let count = count.map_err(|_| not_understood())?;
            if header.revision >= self.revision {
                self.revision = header.revision;
                return Ok((format!("{}:{count}", header.cluster_id), kvs));
            }
            let mut write = Transaction::default();
            write
                .compare(&setbacks, &Before::read(counted))
                .put(&setbacks, &(count + 1).to_string());
            if let (header, Outcome::Written) = self.client.write(&write)? {
                self.revision = header.revision;
            }
        }
        Err(EngineError::unavailable(
            "other clients of the etcd cluster were faster each time",
        ))
    }

    fn transaction(&self, entries: &[Entry]) -> Transaction {
        let mut transaction = Transaction::default();
        for entry in entries {
            let key = self.prefix.key(entry.key);
            transaction.compare(&key, &entry.before);
            if let Some(after) = &entry.after {
                transaction.put(&key, after);
            }
        }
        transaction
    }

    fn key_of(&self, key: &str) -> Result<Key, EngineError> {
        self.prefix.parse(key).ok_or_else(|| {
            EngineError::unusable(format!(
                "{}: the key {key:?} is another program's",
                self.place()
            ))
        })
    }

    /// The clock of the test, or of the member that answered last.
    fn now(&self) -> Result<Duration, EngineError> {
        if let Some(clock) = &self.clock {
            return read_clock(&**clock);
        }
        let now = self.client.clock.now();
        now.ok_or_else(|| EngineError::unavailable("the etcd cluster's replies have no date"))
    }
}

impl Engine for Etcd {
    fn place(&self) -> String {
        format!("the etcd cluster at {}", self.client)
    }

    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError> {
        let ranges: Vec<_> = keys.iter().map(|keys| self.prefix.range(keys)).collect();
        let (mut fingerprint, mut texts) = (String::new(), BTreeMap::new());
        for ranges in ranges.chunks(OPERATIONS - 1) {
            let (known_by, kvs) = self.look(ranges)?;
            fingerprint = known_by;
            for (key, text) in kvs {
                texts.insert(self.key_of(&key)?, text);
            }
        }
        Ok(Reading {
            now: self.now()?,
            continuity: Continuity {
                fingerprint,
                // A namespace that was deleted leaves its leases. A counter leaves nothing.
                is_absence_certain: !keys.contains(&Keys::One(Key::Counter)),
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<Committed, EngineError> {
        let (cluster, setbacks) = write.fingerprint.split_once(':').unwrap_or_default();
        let counted = Some(setbacks.to_owned()).filter(|count| count != "0");
        // Those that do not fit are earlier leases and hints: see `AT_ONCE`.
        let fitting = write.entries.len().min(OPERATIONS - 1);
        let (entries, others) = write.entries.split_at(fitting);
        let is_past = |entry: &Entry| matches!(entry.key, Key::Past(..));
        let (past, hints) = others.split_at(others.iter().take_while(|it| is_past(it)).count());
        // First: without the leases that follow on them they say nothing; the other way round there would be a gap.
        for past in past.chunks(OPERATIONS) {
            self.client.write(&self.transaction(past))?;
        }
        let mut transaction = self.transaction(entries);
        transaction.compare(&self.prefix.setbacks(), &Before::read(counted));
        // One member may write it and not answer; then another is asked. No other write has the same text for these.
        let is_unique = |entry: &&Entry| matches!(entry.key, Key::Node(_) | Key::Counter);
        let last = entries.iter().rfind(is_unique);
        let last = last.and_then(|last| Some((self.prefix.key(last.key), last.after.clone()?)));
        if let Some((key, _)) = &last {
            transaction.or_read(key);
        }

        let (header, outcome) = self.client.write(&transaction)?;
        let is_written = match outcome {
            Outcome::Written => true,
            Outcome::Refused(there) => last.is_some_and(|last| there.contains(&last)),
        };
        if !is_written {
            return Ok(Committed::Stale);
        }
        let is_put = entries.iter().any(|entry| entry.after.is_some());
        let revision = self.revision.saturating_add(is_put.into());
        if header.cluster_id != cluster || header.revision < revision {
            // So the next read counts a setback, whatever revision it shows.
            self.revision = u64::MAX;
            return Err(EngineError::unavailable(
                "the etcd cluster was set back or replaced since it was read",
            ));
        }
        self.revision = header.revision;
        let now = self.now()?;
        for hints in hints.chunks(OPERATIONS) {
            let hints = self.transaction(hints);
            // A lost one costs a wait.
            _ = self.client.write(&hints);
        }
        Ok(Committed::Done { now })
    }

    fn list(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let range = self.prefix.range(&Keys::Nodes(first..=u32::MAX));
        let (_, kvs) = self.client.read(&[range.limited(most)])?;
        let nodes = kvs.into_iter().map(|(key, text)| match self.key_of(&key)? {
            Key::Node(node_id) => Ok((node_id, text)),
            _ => Err(not_understood()),
        });
        nodes.collect()
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let mut texts = BTreeMap::new();
        let mut next = match only {
            Some(name) => Some(name.to_owned()),
            None => self.next_name(Prefix::FIRST)?,
        };
        while let Some(name) = next {
            let prefix = Prefix::of(&name);
            let (_, kvs) = self
                .client
                .read(&[prefix.range(&Keys::One(Key::Namespace))])?;
            next = match only {
                Some(_) => None,
                None => self.next_name(&prefix.end())?,
            };
            texts.extend(kvs.into_iter().map(|(_, text)| (name.clone(), text)));
        }
        Ok(Some(texts))
    }

    fn forget(&mut self, keys: &Keys) -> Result<(), EngineError> {
        let mut write = Transaction::default();
        write.delete(&self.prefix.range(keys));
        self.client.write(&write)?;
        Ok(())
    }

    fn clear(&mut self, namespace: &str) -> Result<(), EngineError> {
        let mut write = Transaction::default();
        let before = Before::Text(namespace.to_owned());
        write.compare(&self.prefix.key(Key::Namespace), &before);
        for keys in [
            Keys::Nodes(0..=u32::MAX),
            Keys::Pages(0..=u32::MAX),
            Keys::Hints(0..=u32::MAX),
        ] {
            write.delete(&self.prefix.range(&keys));
        }
        let (first, last) = (Key::Past(0, 0), Key::Past(u32::MAX, u16::MAX));
        let history = Range::new(self.prefix.key(first), self.prefix.key(last));
        write.delete(&history);
        self.client.write(&write)?;
        Ok(())
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let status = self.client.call("maintenance/status", &json!({}))?;
        let shown = |name: &str| {
            let value = status.get(name).and_then(Value::as_str);
            value.unwrap_or("unknown").to_owned()
        };
        let (fingerprint, _) = self.look(&[])?;
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

    fn has_own_clock(&self) -> bool {
        self.clock.is_none()
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
            .field("keys", &self.prefix)
            .finish_non_exhaustive()
    }
}
