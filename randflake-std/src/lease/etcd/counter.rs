//! The counter of a namespace: a key of its own.

use super::Etcd;
use super::client::not_understood;
use super::transaction::{Outcome, Range, Write};
use crate::lease::StoreError;
use crate::ledger::{Continuity, CounterBackend, CounterRecord, CounterView};

impl CounterBackend for Etcd {
    /// No sign tells a new cluster from one whose keys were deleted, so its absence is never certain.
    fn read_counter(&mut self) -> Result<CounterView, StoreError> {
        self.revisions.clear();
        let (fingerprint, found) = self.get(&[Range::Key(self.keys.counter())])?;
        let record = found[0].kvs.first().map(|kv| {
            let (next, vouched) = kv.value.split_once(':').ok_or_else(not_understood)?;
            Ok(CounterRecord {
                next: next.parse().map_err(|_| not_understood())?,
                vouched: vouched.to_owned(),
            })
        });
        Ok(CounterView {
            record: record.transpose()?,
            continuity: Continuity {
                fingerprint,
                ..Continuity::default()
            },
        })
    }

    fn commit_counter(
        &mut self,
        _: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<bool, StoreError> {
        let key = self.keys.counter();
        let mut write = Write::default();
        write
            .compare(&key, self.revision_of(&key))
            .put(&key, &format!("{}:{}", after.next, after.vouched));
        Ok(matches!(self.write(&write)?, Outcome::Written))
    }
}
