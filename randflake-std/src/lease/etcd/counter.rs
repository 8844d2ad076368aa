//! The counter of a namespace: a key of its own, changed if nobody else has meanwhile.

use super::EtcdStore;
use super::client::not_understood;
use super::session::{TRIES, too_busy};
use super::transaction::{Range, Write};
use crate::lease::StoreError;
use crate::segment::{Counter, CounterStatus, Segment, SegmentStore};

impl EtcdStore {
    /// One operation on the counter, which is told of the cluster's id: somebody vouches for a counter
    /// in one cluster.
    fn count<T>(
        &mut self,
        operation: impl Fn(&mut Counter, u64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let key = self.keys.counter();
        for _ in 0..TRIES {
            let (mut header, found) = self.client.read(&[Range::Key(key.clone())])?;
            let cluster = header.cluster_id.parse().map_err(|_| not_understood())?;
            let kv = found.first().and_then(|found| found.kvs.first());
            let stored = match kv {
                Some(kv) => read(&kv.value).ok_or_else(not_understood)?,
                None => Counter::NEW,
            };
            let mut counter = stored;
            if header.revision < self.counter_revision {
                // The cluster was set back.
                counter.vouched = NOBODY;
            }
            let outcome = operation(&mut counter, cluster);
            if (counter.next, counter.vouched) != (stored.next, stored.vouched) {
                let mut write = Write::default();
                write
                    .compare(&key, kv.map_or(0, |kv| kv.revision))
                    .put(&key, &format!("{}:{}", counter.next, counter.vouched));
                let (after, is_written) = self.client.write(&write)?;
                if !is_written {
                    continue;
                }
                header = after;
            }
            self.counter_revision = header.revision;
            return outcome;
        }
        Err(too_busy())
    }
}

/// No cluster has this id. A counter that is not there is vouched for by nobody either.
const NOBODY: u64 = 0;

fn read(value: &str) -> Option<Counter> {
    let (next, vouched) = value.split_once(':')?;
    Some(Counter {
        next: next.parse().ok()?,
        vouched: vouched.parse().ok()?,
    })
}

impl SegmentStore for EtcdStore {
    fn reserve(&mut self, count: u64) -> Result<Segment, StoreError> {
        self.count(|counter, cluster| counter.reserve(count, cluster))
    }

    fn counter(&mut self) -> Result<CounterStatus, StoreError> {
        self.count(|counter, cluster| Ok(counter.status(cluster)))
    }

    fn resume(&mut self, number: u64) -> Result<u64, StoreError> {
        self.count(|counter, cluster| counter.resume(number, cluster))
    }
}
