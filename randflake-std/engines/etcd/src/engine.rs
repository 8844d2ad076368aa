//! The etcd engine: reads and conditional writes of a namespace.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;
use serde_json::{Value, json};

use super::client::{EtcdClient, not_understood};
use super::continuity::{SeenRevision, counted, fingerprint, identity};
use super::keys::Prefix;
use super::transaction::{Kv, OPERATIONS, Range, Transaction, TransactionOutcome};
use randflake_lease::unstable::engine::{Ask, Engine, NAMES_LISTED, Profile, Reading};
use randflake_lease::unstable::engine::{
    Before, Continuity, Entry, Key, Keys, Removal, VERSION, Write, WriteOutcome, read_clock,
};
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Finding, Namespace, StoreError};

/// Node ids of one write. With the namespace's key and the setbacks they leave a fifth of a
/// transaction's operations, in parts of which all is put: an acquire may also keep an earlier
/// lease for each node id.
const MAX_BATCH: usize = 100;
/// How often a setback is counted anew because others were faster.
const TRIES: usize = 100;

/// One namespace of a cluster.
pub(crate) struct Etcd {
    client: EtcdClient,
    url: String,
    prefix: Prefix,
    /// Clock in the place of the member's, in tests.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// The cluster's latest revision that this process has seen.
    revision: SeenRevision,
}

impl Etcd {
    /// Makes the engine of a namespace. Nothing is asked yet.
    pub(crate) fn over(
        location: &Location,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            client: EtcdClient::new(location)?,
            url: location.to_string(),
            prefix: Prefix::of(namespace.name()),
            clock,
            revision: SeenRevision::default(),
        })
    }

    fn place(&self) -> String {
        format!("the etcd cluster at {}", self.client)
    }

    /// The first namespace whose keys are not before one.
    fn next_name(&mut self, first: &str) -> Result<Option<String>, EngineError> {
        let range = Range::new(first.to_owned(), Prefix::LAST.to_owned());
        let (_, kvs) = self.client.read(&[range.limited(1)])?;
        Ok(kvs.first().and_then(|(key, _)| Prefix::name_in(key)))
    }

    /// Reads at one moment, and says what the cluster is known by: its id, and how often it was
    /// seen to be set back.
    fn look(&mut self, ranges: &[Range]) -> Result<(Continuity, Vec<Kv>), EngineError> {
        let setbacks = self.prefix.setbacks();
        let ranges = [ranges, &[Range::one(setbacks.clone())]].concat();
        for _ in 0..TRIES {
            let (header, mut kvs) = self.client.read(&ranges)?;
            // It was asked for last, and answers come in the order of the ranges.
            let counted = kvs
                .pop_if(|(key, _)| *key == setbacks)
                .map(|(_, count)| count);
            let count = counted
                .as_deref()
                .unwrap_or("0")
                .parse::<u64>()
                .map_err(|_| not_understood())?;
            if self.revision.allows(&header) {
                let continuity = Continuity {
                    fingerprint: fingerprint(&header.cluster_id, count),
                    identity: identity(&header.cluster_id),
                    // A namespace that was deleted leaves its leases. A counter leaves nothing.
                    ..Continuity::default()
                };
                return Ok((continuity, kvs));
            }
            // Stored before anything is decided: then all clients see another fingerprint, and a
            // crash of this one does not undo it.
            let mut write = Transaction::default();
            write
                .compare(&setbacks, &Before::read(counted))
                .put(&setbacks, &(count + 1).to_string());
            if let (header, TransactionOutcome::Written) = self.client.write(&write)? {
                self.revision.begin_anew(&header);
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
            EngineError::failed_precondition(format!(
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
    fn profile(&self) -> Profile {
        Profile {
            has_own_clock: self.clock.is_none(),
            max_batch: MAX_BATCH,
            url: Some(self.url.clone()),
            ..Profile::at(self.place())
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let ranges = ask.keys.iter().map(|keys| self.prefix.range(keys));
        if let Some(limit) = ask.limit {
            let ranges: Vec<_> = ranges.map(|range| range.limited(limit)).collect();
            // A list decides nothing, so it needs neither setbacks nor the time.
            let (_, kvs) = self.client.read(&ranges)?;
            let texts = kvs
                .into_iter()
                .map(|(key, text)| Ok((self.key_of(&key)?, text)));
            return Ok(Reading::of_texts(
                texts.collect::<Result<_, EngineError>>()?,
            ));
        }
        let ranges: Vec<_> = ranges.collect();
        let (mut continuity, mut texts) = (Continuity::default(), BTreeMap::new());
        // One operation is left for the setbacks. Chunks are of different revisions; the write
        // compares all texts.
        for ranges in ranges.chunks(OPERATIONS - 1) {
            let (known_by, kvs) = self.look(ranges)?;
            continuity = known_by;
            for (key, text) in kvs {
                texts.insert(self.key_of(&key)?, text);
            }
        }
        Ok(Reading {
            now: self.now()?,
            continuity,
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut transaction = self.transaction(&write.entries);
        let counted = Before::read(counted(&write.fingerprint));
        transaction.compare(&self.prefix.setbacks(), &counted);
        // One member may write it and not answer; then another is asked. No other write has the
        // same text for these.
        let is_unique =
            |entry: &&Entry| matches!(entry.key, Key::Node(_) | Key::Counter | Key::Device(_));
        let last = write.entries.iter().rfind(is_unique);
        let last = last.and_then(|last| Some((self.prefix.key(last.key), last.after.clone()?)));
        if let Some((key, _)) = &last {
            transaction.or_read(key);
        }

        // Linearizable, as all transactions are: it is decided by the majority.
        let (header, outcome) = self.client.write(&transaction)?;
        let is_written = match outcome {
            TransactionOutcome::Written => true,
            // The first try was executed and its answer lost.
            TransactionOutcome::Refused(there) => last.is_some_and(|last| there.contains(&last)),
        };
        if !is_written {
            return Ok(WriteOutcome::Stale);
        }
        let is_put = write.entries.iter().any(|entry| entry.after.is_some());
        if !self
            .revision
            .allows_write(&header, &write.fingerprint, is_put)
        {
            return Err(EngineError::unavailable(
                "the etcd cluster was set back or replaced since it was read",
            ));
        }
        Ok(WriteOutcome::Written { now: self.now()? })
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
        let mut looked = 0;
        while let Some(name) = next {
            looked += 1;
            // Each name costs a round trip: somebody could fill the prefix.
            if looked > 2 * NAMES_LISTED {
                return Err(EngineError::failed_precondition(format!(
                    "{}: over {NAMES_LISTED} keys below randflake/ are another program's: delete them",
                    self.place()
                )));
            }
            // No name is asked for that is no text; names that are sort before those that begin
            // like it.
            let damaged = name.find(char::REPLACEMENT_CHARACTER);
            let prefix = Prefix::of(&name);
            let behind = match damaged {
                Some(at) => Prefix::behind(&name[..at]),
                None => prefix.end(),
            };
            next = match only {
                Some(_) => None,
                None if texts.len() >= NAMES_LISTED => None,
                None => self.next_name(&behind)?,
            };
            if damaged.is_some() {
                texts.insert(name, String::new());
                continue;
            }
            let (_, kvs) = self
                .client
                .read(&[prefix.range(&Keys::One(Key::Namespace))])?;
            texts.extend(kvs.into_iter().map(|(_, text)| (name.clone(), text)));
        }
        Ok(Some(texts))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let mut write = Transaction::default();
        match removal {
            Removal::Contents(guard) => {
                let guard = Before::Text((*guard).to_owned());
                write.compare(&self.prefix.key(Key::Namespace), &guard);
                for range in self.prefix.contents() {
                    write.delete(&range);
                }
            }
            Removal::History(node_id, places) => {
                let keys = Keys::History(*node_id, places.clone());
                write.delete(&self.prefix.range(&keys));
            }
        }
        // Refused means that the guard does not hold: nothing is to be removed.
        self.client.write(&write)?;
        Ok(())
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let status = self.client.call("maintenance/status", &json!({}))?;
        let shown = |name: &str| {
            let value = status.get(name).and_then(Value::as_str);
            value.unwrap_or("unknown").to_owned()
        };
        let (Continuity { fingerprint, .. }, _) = self.look(&[])?;
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

    fn has_disconnected(&mut self) -> bool {
        self.client.has_disconnected()
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
