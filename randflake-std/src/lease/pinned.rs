//! A node id of the caller's choice.

use core::time::Duration;

use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};

/// Leases one node id that was chosen, such as that of a machine's address, instead of any that is free:
/// where two machines have chosen the same one, the second is refused as
/// [`StoreError::Exhausted`] for as long as the first lives.
///
/// It is what Sonyflake's `CheckMachineID` asks once, asked of any store and kept: the lease is
/// renewed, and ends with the process. After a crash the machine has its node id back when the lease is
/// over, within the TTL.
///
/// The chosen node id is the only one of a namespace of its own, `NAME-node-N`, so it is leased with all
/// that a store promises. Therefore **a fleet either chooses all its node ids or none**: a handle that
/// leases any free one from the namespace itself does not know of those that were chosen.
///
/// Where the assignment is certain and there is no server to ask, [`StaticStore`](super::StaticStore) keeps
/// one node id in a file.
///
/// ```
/// use randflake_std::lease::{MemoryStore, Namespace, Pinned, StoreError};
/// use randflake_std::{BuildError, Builder, Plain, Sonyflake, SystemClock};
/// use std::sync::Arc;
///
/// let namespace = Namespace::of::<Sonyflake>("orders")?;
/// let server = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
/// // Of 10.0.18.103; the feature `private-ip` finds out the address.
/// let node_id = 18 << 8 | 103;
/// let build = || {
///     let store = Pinned::open(&namespace, node_id, |one| server.open(one.clone()))?;
///     Builder::<Sonyflake>::new(Plain, store).build()
/// };
///
/// let ids = build()?;
/// assert_eq!(ids.inspect(ids.generate()?).node_id, node_id);
///
/// // A second machine of the same low 16 bits.
/// assert!(matches!(build(), Err(BuildError::Store(StoreError::Exhausted { .. }))));
/// ids.close()?; // The node id is free in the tick after its last id.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pinned<S> {
    /// Of the one node id, which is 0 there.
    store: S,
    namespace: Namespace,
    node_id: u32,
}

impl<S: LeaseStore> Pinned<S> {
    /// The store of this node id of a namespace: `open` opens the store for the namespace that it is
    /// given.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the layout has no such node id or the namespace's name has too many
    /// characters for the longer one, and what `open` answers.
    pub fn open(
        namespace: &Namespace,
        node_id: u32,
        open: impl FnOnce(&Namespace) -> Result<S, StoreError>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            store: open(&namespace.of_one_node(node_id)?)?,
            namespace: namespace.clone(),
            node_id,
        })
    }

    /// As the store knows it.
    fn inner(grant: &Grant) -> Grant {
        Grant {
            node_id: 0,
            ..*grant
        }
    }

    /// As the holder knows it.
    fn outer(&self, grant: Grant) -> Grant {
        Grant {
            node_id: self.node_id,
            ..grant
        }
    }

    /// The grants of this node id, as the store knows them.
    fn inner_all(&self, grants: &[Grant]) -> Vec<Grant> {
        let ours = grants.iter().filter(|grant| grant.node_id == self.node_id);
        ours.map(Self::inner).collect()
    }
}

impl<S: LeaseStore> LeaseStore for Pinned<S> {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        let Acquired { grants, now } = self.store.acquire(request)?;
        let grants = grants.into_iter().map(|grant| self.outer(grant)).collect();
        Ok(Acquired { grants, now })
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        let renewed = self.store.renew(&self.inner_all(grants), ttl)?;
        let mut ours = renewed.ends.into_iter();
        let ends = grants.iter().map(|grant| {
            let is_ours = grant.node_id == self.node_id;
            is_ours.then(|| ours.next().flatten()).flatten()
        });
        Ok(Renewed {
            ends: ends.collect(),
            now: renewed.now,
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.store.release(&self.inner_all(grants))
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let records = self.store.list()?.into_iter();
        let outer = records.map(|record| Record {
            grant: self.outer(record.grant),
            ..record
        });
        Ok(outer.collect())
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        self.store.fence()
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        self.store.now()
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.store.diagnose()
    }
}
