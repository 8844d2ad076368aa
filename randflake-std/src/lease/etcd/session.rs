//! One operation's look at the namespace.

use core::time::Duration;

use super::EtcdStore;
use super::client::not_understood;
use super::record::{Stored, VERSION};
use super::transaction::{Found, Header, Range, Write};
use crate::lease::StoreError;
use crate::lease::moment::{self, Moment};

/// How often an operation begins anew because others were faster.
pub(super) const TRIES: usize = 100;

/// A namespace at one moment.
pub(super) struct View {
    pub(super) now: Moment,
    pub(super) stored: Stored,
    /// Of the namespace's key.
    pub(super) revision: u64,
    /// What else was asked for.
    pub(super) found: Vec<Found>,
}

impl View {
    pub(super) fn max_ttl(&self) -> Duration {
        Duration::from_millis(self.stored.max_ttl_ms)
    }
}

impl EtcdStore {
    /// Reads the namespace together with other keys. Creates it if it is not there, and raises its fence
    /// if leases may have been forgotten.
    pub(super) fn view(&mut self, others: &[Range]) -> Result<View, StoreError> {
        let key = self.keys.namespace();
        let mut ranges = vec![Range::Key(key.clone())];
        ranges.extend_from_slice(others);
        for _ in 0..TRIES {
            let (header, mut found) = self.client.read(&ranges)?;
            let now = Moment::at(self.read_clock()?, self.namespace.spec())?;
            let kv = found.remove(0).kvs.pop();
            let mut write = Write::default();
            if let Some(kv) = kv {
                let stored = self.check(&kv.value)?;
                if stored.cluster_id == header.cluster_id && header.revision >= self.seen_revision {
                    self.saw(&header);
                    return Ok(View {
                        now,
                        stored,
                        revision: kv.revision,
                        found,
                    });
                }
                let raised = self.fenced(&stored, &header, now);
                write.compare(&key, kv.revision).put(&key, &text(&raised)?);
            } else {
                let new = self.new_namespace(&header, now)?;
                write.compare(&key, 0).put(&key, &text(&new)?);
            }
            self.seen_revision = 0;
            self.write(&write)?;
        }
        Err(too_busy())
    }

    /// Writes if nothing has changed since; says whether it did.
    pub(super) fn write(&mut self, write: &Write) -> Result<bool, StoreError> {
        let (header, written) = self.client.write(write)?;
        self.seen_revision = self.seen_revision.max(header.revision);
        Ok(written)
    }

    /// The clock of the test, or of the member that answered last.
    pub(super) fn read_clock(&self) -> Result<Duration, StoreError> {
        if let Some(clock) = &self.clock {
            return moment::read(&**clock);
        }
        let now = self.client.clock.now();
        now.ok_or_else(|| StoreError::unavailable("the etcd cluster's replies have no date"))
    }

    fn saw(&mut self, header: &Header) {
        self.seen_revision = header.revision;
        self.was_seen = true;
    }

    fn check(&self, stored: &str) -> Result<Stored, StoreError> {
        let refused = |why: &str| {
            let name = self.namespace.name();
            StoreError::Unusable(format!(
                "the namespace {name:?} of this etcd cluster: {why}"
            ))
        };
        let stored: Stored =
            serde_json::from_str(stored).map_err(|_| refused("its key is another program's"))?;
        if stored.version != VERSION {
            return Err(refused(&format!(
                "a newer randflake made it (version {}; this one knows {VERSION}): update this one",
                stored.version
            )));
        }
        self.namespace
            .check_layout(stored.node_ids, stored.epoch_unix_ms, stored.tick_ms)?;
        Ok(stored)
    }

    /// It grants at once if it is new, as far as can be seen.
    fn new_namespace(&mut self, header: &Header, now: Moment) -> Result<Stored, StoreError> {
        let leases = Range::Lowest(
            self.keys.lease(0),
            self.keys.lease(self.namespace.node_ids()),
            1,
        );
        let (_, found) = self.client.read(&[leases])?;
        let has_leases = found.first().ok_or_else(not_understood)?.count > 0;
        let spec = self.namespace.spec();
        let new = Stored {
            version: VERSION,
            node_ids: self.namespace.node_ids(),
            epoch_unix_ms: spec.epoch_unix_ms(),
            tick_ms: spec.tick_ms(),
            max_ttl_ms: u64::try_from(self.max_ttl.as_millis()).unwrap_or(u64::MAX),
            fence: 0,
            cluster_id: header.cluster_id.clone(),
        };
        Ok(if has_leases || self.was_seen {
            self.fenced(&new, header, now)
        } else {
            new
        })
    }

    /// Nothing is granted until all is over that may have been granted until now.
    pub(super) fn fenced(&self, stored: &Stored, header: &Header, now: Moment) -> Stored {
        let fence = now.fence(&self.namespace, Duration::from_millis(stored.max_ttl_ms));
        Stored {
            fence: stored.fence.max(fence).max(self.seen_end),
            cluster_id: header.cluster_id.clone(),
            ..stored.clone()
        }
    }
}

pub(super) fn text(stored: &Stored) -> Result<String, StoreError> {
    serde_json::to_string(stored).map_err(StoreError::unavailable)
}

pub(super) fn too_busy() -> StoreError {
    StoreError::unavailable("other clients of the etcd cluster were faster each time")
}
