//! One node id that somebody assigns, for those without any server.

mod file;
mod node;
mod slot;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_core::Clock;

use self::file::Guard;
pub use self::node::{NODE_ID_VARIABLE, NodeIdSource};
use self::slot::Slot;
use super::moment::{self, Moment};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, MAX_SKEW, Namespace, Record, Renewed,
    StoreError, volume,
};
use crate::clock::SteadyClock;
use crate::fork_guard::ForkGuard;

const VANISHES: &str = "the file vanishes with it: then each start waits as for a new file, and a clock that goes back \
                        meanwhile repeats ids; mount a persistent volume";

/// A lease store for one node id that was assigned: by configuration, by a variable, or as the ordinal
/// of a pod in a Kubernetes `StatefulSet`. See [`NodeIdSource`].
///
/// A small file guards restarts. It holds the end of the last lease, is on the disk before a lease is
/// answered, and is locked while a process holds one. A lease begins at the time now or at that end,
/// whichever is later: what the process before has issued, killed or not, is never issued again,
/// whatever the clock shows.
///
/// | what happened                             | what it does                                          |
/// |-------------------------------------------|-------------------------------------------------------|
/// | the process closed its handle             | the next one begins at once                           |
/// | it was killed, or the machine was         | the next one's lease begins at the end of its lease   |
/// | another process holds the file            | refused                                               |
/// | the file was deleted, or is new           | the first lease begins a TTL and 10 s later           |
/// | it was deleted or replaced under a holder | the holder cannot renew                               |
/// | the directory is missing                  | refused: its volume may not be mounted                |
/// | it is another node id's or namespace's    | refused                                               |
/// | it is a link, or mounted alone            | refused: mount its directory                          |
/// | others may write to it or its directory   | refused; so is a file of neither this user nor root   |
/// | the node id is beyond the layout's        | refused                                               |
/// | it ends over 10 s and a longest TTL ahead | refused until it is nearer: a clock was far ahead     |
///
/// Until its lease begins a handle refuses, and says how long. Since a restart after a kill waits for
/// the end of the lease, and a renewal costs no more than a write to the disk, a TTL of some seconds
/// does better here than the usual 60 s.
///
/// # What it cannot notice
///
/// - **Two processes with one node id on different files**: machines that were given the same number, a
///   pod that was deleted by force while its node was cut off and runs on. Whoever assigns node ids
///   must never let two live; a server that leases them would.
/// - A backup of the file, or a snapshot of its disk, that was restored: call
///   [`fence`](LeaseStore::fence) then, before any process starts.
/// - A volume that vanishes with the machine or the pod, such as `emptyDir`, a container's own layer or
///   memory, gives a new file at each start: each waits as above, which is enough as long as the clocks
///   of both machines agree within 10 s and both used the same TTL.
///   [`diagnose`](LeaseStore::diagnose) tells such volumes where the system does.
///
/// While a process holds the file its time does not go back.
///
/// ```
/// use randflake_std::lease::{LeaseStore, Namespace, NodeIdSource, StaticStore};
/// use randflake_std::Randflake;
///
/// # let folder = tempfile::tempdir()?;
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let path = folder.path().join("node");
/// let store = StaticStore::open(path, NodeIdSource::Given(7), &namespace)?;
/// assert_eq!(store.node_id(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StaticStore {
    path: PathBuf,
    node_id: u32,
    namespace: Namespace,
    clock: Arc<dyn Clock + Send + Sync>,
    /// From the first acquire on.
    guard: Option<Guard>,
    fork_guard: ForkGuard,
}

impl StaticStore {
    /// Opens the store of the node id that a source names, with its file at a path. Nothing is locked
    /// or written before the first acquire.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the source names no node id, or one that the layout does not have;
    /// [`StoreError::Unusable`] when the directory is missing or the file is another one's.
    pub fn open(
        path: impl AsRef<Path>,
        source: NodeIdSource,
        namespace: &Namespace,
    ) -> Result<Self, StoreError> {
        Self::open_with_clock(path, source, namespace, Arc::new(SteadyClock::new()))
    }

    /// [`open`](StaticStore::open) with another clock than the operating system's, for tests and
    /// simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](StaticStore::open).
    pub fn open_with_clock<C>(
        path: impl AsRef<Path>,
        source: NodeIdSource,
        namespace: &Namespace,
        clock: Arc<C>,
    ) -> Result<Self, StoreError>
    where
        C: Clock + Send + Sync + 'static,
    {
        let store = Self {
            path: file::resolve(path.as_ref())?,
            node_id: source.node_id(namespace)?,
            namespace: namespace.clone(),
            clock,
            guard: None,
            fork_guard: ForkGuard::new(),
        };
        store.look()?;
        Ok(store)
    }

    /// The node id.
    #[must_use]
    pub fn node_id(&self) -> u32 {
        self.node_id
    }

    fn moment(&self) -> Result<Moment, StoreError> {
        Moment::read(&*self.clock, self.namespace.spec())
    }

    /// What the file says, without the lock.
    fn look(&self) -> Result<Slot, StoreError> {
        file::read(&self.path)?.map_or_else(
            || Ok(Slot::new(&self.namespace, self.node_id)),
            |slot| self.check(slot),
        )
    }

    /// Refuses what was written for something else.
    fn check(&self, slot: Slot) -> Result<Slot, StoreError> {
        slot.check(&self.namespace, self.node_id)
            .map_err(|why| file::unusable(&self.path, &why))?;
        Ok(slot)
    }

    /// The file under the lock, which this process keeps.
    fn guarded(&mut self) -> Result<&mut Guard, StoreError> {
        if self.fork_guard.is_in_child() {
            let why = "a forked child must not use its parent's store";
            return Err(StoreError::Unusable(why.to_owned()));
        }
        let guard = if let Some(guard) = self.guard.take() {
            guard
        } else {
            let guard = Guard::lock(&self.path, Slot::new(&self.namespace, self.node_id))?;
            self.check(guard.slot.clone())?;
            guard
        };
        guard.check_place()?;
        Ok(self.guard.insert(guard))
    }

    /// The file, if it has the lease that a grant names, not released.
    fn held(&mut self, grant: &Grant) -> Result<Option<&mut Guard>, StoreError> {
        let guard = self.guarded()?;
        let known = guard.slot.grant;
        let same = (known.node_id, known.fencing_token, known.token)
            == (grant.node_id, grant.fencing_token, grant.token);
        Ok((guard.slot.held && same).then_some(guard))
    }
}

impl Debug for StaticStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticStore")
            .field("path", &self.path)
            .field("node_id", &self.node_id)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for StaticStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        if request.count != 1 {
            let count = request.count;
            return Err(StoreError::Invalid(format!(
                "{count} node ids asked for: one was assigned, and 1 is allowed"
            )));
        }
        let namespace = self.namespace.clone();
        let max_ttl = namespace.max_ttl();
        StoreError::check(request, &namespace, max_ttl)?;
        let node_id = self.node_id;
        // Only then the time: to lock may take long.
        self.guarded()?;
        let now = self.moment()?;
        let guard = self.guarded()?;
        now.check_fence(guard.slot.fence)?;

        let former = guard.slot.grant;
        if guard.is_ours && guard.slot.held && now.tick < former.end {
            if former.token != request.token {
                let retry_in = now.until(former.end);
                return Err(StoreError::Exhausted { retry_in });
            }
            if guard.slot.holder != request.holder {
                return Err(StoreError::Foreign);
            }
            return Ok(Acquired {
                grants: vec![former],
                now: now.unix,
            });
        }
        let free_from = if guard.slot.is_new() {
            let wait = namespace.ticks(MAX_SKEW).saturating_add(request.ttl);
            now.tick.saturating_add(wait)
        } else {
            former.end
        };
        let furthest = now.fence(&namespace, max_ttl);
        if free_from > furthest {
            let near = free_from - (furthest - now.tick);
            let retry_in = now.until(near);
            return Err(StoreError::Exhausted { retry_in });
        }
        let start = now.tick.max(free_from);
        let grant = Grant {
            node_id,
            start,
            end: now.end_after(start - now.tick + request.ttl)?,
            fencing_token: start.max(former.fencing_token.saturating_add(1)),
            token: request.token,
        };
        guard.change(|slot| {
            (slot.grant, slot.held) = (grant, true);
            request.holder.clone_into(&mut slot.holder);
        })?;
        guard.is_ours = true;
        Ok(Acquired {
            grants: vec![grant],
            now: now.unix,
        })
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        StoreError::check_ttl(ttl, &self.namespace, self.namespace.max_ttl())?;
        let now = self.moment()?;
        let mut ends = Vec::with_capacity(grants.len());
        for grant in grants {
            let held = self.held(grant)?;
            ends.push(match held.filter(|guard| now.tick < guard.slot.grant.end) {
                Some(guard) => {
                    let end = guard.slot.grant.end.max(now.extended(ttl));
                    guard.change(|slot| slot.grant.end = end)?;
                    Some(end)
                }
                None => None,
            });
        }
        Ok(Renewed {
            ends,
            now: now.unix,
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        for grant in grants {
            if let Some(guard) = self.held(grant)? {
                let Grant { start, end, .. } = guard.slot.grant;
                let end = grant.end.min(end).max(start);
                guard.change(|slot| (slot.grant.end, slot.held) = (end, false))?;
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let Slot { grant, holder, .. } = self.look()?;
        let is_granted = grant.fencing_token > 0;
        Ok(is_granted
            .then_some(Record { grant, holder })
            .into_iter()
            .collect())
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        let now = self.moment()?;
        let fence = now.fence(&self.namespace, self.namespace.max_ttl());
        let guard = self.guarded()?;
        let fence = guard.slot.fence.max(fence);
        guard.change(|slot| slot.fence = fence)?;
        Ok(now.until(fence))
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        moment::read(&*self.clock)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let now = self.moment()?;
        let slot = self.look()?;
        let shown = format!("node id {}, {} writes", slot.grant.node_id, slot.writes);
        let sentence = "no two processes may have this node id on different files: nothing here \
                        can see that";
        Ok(vec![
            Finding::fine("schema", format!("version {}", slot::VERSION)),
            Finding::fine("fingerprint", shown),
            Finding::fence(now.fence_left(slot.fence)),
            volume::finding(&self.path, VANISHES),
            Finding::caution("assignment", self.node_id.to_string(), sentence),
        ])
    }
}
