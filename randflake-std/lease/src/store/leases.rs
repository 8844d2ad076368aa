//! The operations on leases.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeSet;

use super::blind_renewal::BlindRenewal;
use super::operation::{Done, Undone};
use super::{LeaseStore, Look, Pending, Profile};
use crate::rules::{
    Acquire, HeldLease, LeaseCheck, NodeRecord, Wanted, acquire, check, release, renew,
};
use crate::vocabulary::{
    AcquireRequest, Acquired, Grant, KeyCheck, LastWrite, Loss, NodeIds, PresentedGrant,
    PresentedRenewal, Renewed, RequestId, StoreError,
};

/// A look has the time limit of an operation under a TTL of this part.
const LOOKS_LIMIT: u64 = 4;

/// What became of each lease of a renewal or release: its record, or why it is lost.
pub(super) type Renewals = Vec<Result<NodeRecord, Loss>>;

impl LeaseStore {
    /// Sets whether ids are plain, or under which key. An acquire is refused if the namespace has others.
    pub fn seal(&mut self, seal: KeyCheck) {
        self.namespace.set_seal(seal);
    }

    /// From now on it acts for holders elsewhere, of whose leases it knows what they tell: as a server does. It remembers
    /// no lease, since each may be renewed and released through another server in between; and none that the store does not
    /// know is proof that the store has forgotten it.
    pub fn act_as_proxy(&mut self) {
        self.seen.act_as_proxy();
    }

    /// From now on it is granted only these node ids. Renewals and releases are as before. A server keeps some node ids from
    /// its clients in this way; processes that do not do so may be granted any.
    pub fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.within = Some(node_ids.into_inner());
    }

    /// The first and the last node id that it may be granted: of those that the engine keeps.
    fn within(&self) -> (u32, u32) {
        let (first, last) = self.records.profile.node_ids;
        let within = self.within.unwrap_or((first, last));
        // Two limits that do not meet leave nothing to grant, and the rule refuses every request.
        (within.0.max(first), within.1.min(last))
    }

    /// Whether it is on a server, which may be restarted while this process goes on. Known once the store was opened.
    #[must_use]
    pub fn is_on_server(&self) -> bool {
        self.records.profile.has_own_clock
    }

    /// Where the leases of the secret are, if that is this machine or this process alone; `None` also of plain ids. Known
    /// once the store was opened.
    #[doc(hidden)] // For `randflake-std`.
    pub fn local_place_of_secret(&self) -> Option<&str> {
        let Profile {
            place,
            node_ids: (first, last),
            has_own_clock,
            ..
        } = &self.records.profile;
        let seal = self.namespace.terms().seal;
        let has_secret = seal.and_then(KeyCheck::value).is_some();
        // What has no clock of its own is a file or in memory. With one node id it was assigned, and others have others.
        let is_local = !has_own_clock && first < last;
        (is_local && has_secret).then_some(&**place)
    }

    /// Whether the connection to the server has broken since it was last used or asked, as far as is known without a round
    /// trip. The client of MySQL does not tell.
    pub fn has_disconnected(&mut self) -> bool {
        self.records.engine().has_disconnected()
    }

    /// How often a holder [looks](LeaseStore::look) at it between renewals, though no call failed. Known once the store was
    /// opened.
    #[must_use]
    pub fn look_every(&self) -> Option<Duration> {
        self.records.profile.look_every
    }

    /// Looks whether the store is what this process saw last. Cheap; nothing is locked or written.
    ///
    /// # Errors
    ///
    /// Those of the engine: nothing is known then.
    pub fn look(&mut self) -> Result<Look, StoreError> {
        Ok(self.ready()?.engine().look()?)
    }

    /// Checks leases as a renewal of `ttl` ticks would, by one read where the store can. Nothing is written, and no clock is
    /// compared.
    ///
    /// # Errors
    ///
    /// Those of the engine: nothing is known then.
    pub fn check_leases(&mut self, grants: &[Grant], ttl: u64) -> Result<LeaseCheck, StoreError> {
        // A look that waits for its server must not delay a renewal.
        self.limit_for(ttl / LOOKS_LIMIT)?;
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let view = self.records.read(&Wanted::nodes(&nodes))?;
        self.records.engine().abandon();
        let leases: Vec<_> = grants.iter().map(|it| self.seen.held(it)).collect();
        // Nothing is written, so it takes no numbers.
        Ok(check(&view, &leases, ttl, &self.caller(None, (0, 0))))
    }

    /// Grants all that the request asks for at once, or nothing.
    ///
    /// After [`StoreError::Unavailable`] the outcome is unknown. The operation is idempotent: the same request,
    /// repeated here, gets what the lost one was granted.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        let AcquireRequest {
            token, nodes, ttl, ..
        } = *request;
        self.limit_for(ttl)?;
        // All or nothing is one write, so it cannot be split as renewals are.
        let max_batch = self.records.profile.max_batch;
        if nodes.count() as usize > max_batch {
            return Err(StoreError::Invalid(format!(
                "{} node ids asked for at once: this store grants at most {max_batch}",
                nodes.count()
            )));
        }
        // Another token is another request: what the former one may have been granted expires by itself.
        let pending = self.pending.take().filter(|pending| pending.token == token);
        let mut pending = pending.unwrap_or(Pending {
            token,
            nonces: Vec::new(),
            nodes: Vec::new(),
        });
        let within = self.within();
        let acquisition = Acquire {
            request: *request,
            tried: &pending.nonces,
            within,
        };
        let (chosen, free) = match nodes {
            // More than there are is for the rule to refuse.
            NodeIds::Any(count) => (
                &[][..],
                usize::try_from(u64::from(count).min(self.namespace.node_ids()))
                    .unwrap_or(usize::MAX),
            ),
            NodeIds::These(chosen) => (chosen, 0),
        };
        // What an earlier try may have written has to be looked at by its number: it is not free any more.
        let read = [&pending.nodes, chosen].concat();
        let wanted = Wanted {
            nodes: &read,
            free,
            within: Some(within),
            // Filled in by `run` for each try.
            seen: None,
        };
        match self.run(&wanted, false, |view, caller| {
            acquire(view, &acquisition, caller)
        }) {
            Ok(Done { answer, now }) => {
                for record in &answer {
                    self.seen.note(record);
                    // The grant does not depend on what this removes, so it cannot fail here.
                    self.records.prune(record);
                }
                Ok(Acquired {
                    grants: answer.iter().map(NodeRecord::grant).collect(),
                    last_writes: answer.iter().map(NodeRecord::last_write).collect(),
                    now,
                })
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried.map(|tried| *tried) {
                    pending.nonces.push(nonce);
                    pending
                        .nodes
                        .extend(change.nodes.iter().map(|node| node.after.node_id));
                }
                // Also after a refusal: what an earlier try has written can still be claimed.
                self.pending = Some(pending);
                Err(error)
            }
        }
    }

    /// Moves the end of each grant to `ttl` ticks from now, never back.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the TTL is over the namespace's longest, [`StoreError::ClockSkew`] when the
    /// store's clock has leapt since its last answer, and [`StoreError::Unavailable`]; the same renewal may be
    /// made again.
    pub fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.limit_for(ttl)?;
        let leases: Vec<_> = grants.iter().map(|it| self.seen.held(it)).collect();
        let renewed = self.renew_all(&leases, ttl)?;
        let ends = renewed.answer.into_iter();
        Ok(Renewed {
            ends: ends
                .map(|outcome| outcome.map(|record| record.end))
                .collect(),
            now: renewed.now,
        })
    }

    /// Ends each grant at its `end`, which the caller has set to the first unused tick. Grants that are no longer held
    /// stay as they are.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; the same release may be made again.
    pub fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let max_batch = self.ready()?.profile.max_batch;
        // A chunk that fails ends it: those before are released, and may be released again.
        for grants in grants.chunks(max_batch) {
            let leases: Vec<_> = grants.iter().map(|it| self.seen.held(it)).collect();
            let released = self.release_some(&leases)?;
            // With the end cut: else this process could not lease the node id again before the old
            // end, because the store would seem to have forgotten a lease.
            released.iter().flatten().for_each(|it| self.seen.note(it));
        }
        Ok(())
    }

    /// Renews grants whose holder is elsewhere, as [`renew`](Self::renew) does: a server calls it for its clients.
    ///
    /// Each grant comes with what its last write gave. The holder that made the record's last write goes on; a copy of it,
    /// which presents an older one, gets [`Loss::Contested`]. The same request, repeated here or through another store of
    /// the namespace, gets the same answer.
    ///
    /// # Errors
    ///
    /// As for `renew`; and [`StoreError::Invalid`] when the request made the last write of one of the grants.
    pub fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError> {
        self.limit_for(ttl)?;
        let leases = all_presented(grants, request)?;
        let renewed = self.renew_all(&leases, ttl)?;
        let outcomes = renewed.answer.into_iter();
        Ok(PresentedRenewal {
            outcomes: outcomes
                .map(|outcome| outcome.map(|record| record.presented()))
                .collect(),
            now: renewed.now,
        })
    }

    /// Ends grants whose holder is elsewhere, as [`release`](Self::release) does. Returns for each, in the order given, why
    /// nothing was released: a copy of the holder gets [`Loss::Contested`], and the lease stays as it is.
    ///
    /// # Errors
    ///
    /// As for `release`; and [`StoreError::Invalid`] when the request made the last write of one of the grants.
    pub fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        let leases = all_presented(grants, request)?;
        let max_batch = self.ready()?.profile.max_batch;
        let mut outcomes = Vec::with_capacity(leases.len());
        // After an error the caller repeats the whole request: what was written is recognized.
        for leases in leases.chunks(max_batch) {
            let released = self.release_some(leases)?.into_iter();
            outcomes.extend(released.map(|outcome| outcome.map(drop)));
        }
        Ok(outcomes)
    }

    /// An engine on a server waits for a part of the TTL only, so that another try is in time.
    fn limit_for(&mut self, ttl: u64) -> Result<(), StoreError> {
        let ttl = self.namespace.span(ttl);
        self.ready()?.engine().limit_for(ttl);
        Ok(())
    }

    /// Renews leases, as many at once as the engine can.
    fn renew_all(&mut self, leases: &[HeldLease], ttl: u64) -> Result<Done<Renewals>, StoreError> {
        // Before the first chunk, which may find another namespace and remember its origin.
        let origin = self.seen.origin();
        let max_batch = self.records.profile.max_batch;
        // Also of none: the namespace is looked at, and the time returned.
        let (first, rest) = leases.split_at(leases.len().min(max_batch));
        let mut renewed = self.renew_some(first, ttl)?;
        for leases in rest.chunks(max_batch) {
            if origin.is_some() && self.seen.origin() != origin {
                // The namespace is gone or another one, and all of its leases with it.
                let lost = leases.iter().map(|_| Err(Loss::Forgotten));
                renewed.answer.extend(lost);
                continue;
            }
            let more = self.renew_some(leases, ttl)?;
            renewed.answer.extend(more.answer);
            // The caller counts from before the first chunk, so its time is ahead of the store's:
            // its leases end early rather than late.
            renewed.now = more.now;
        }
        Ok(renewed)
    }

    fn renew_some(&mut self, leases: &[HeldLease], ttl: u64) -> Result<Done<Renewals>, StoreError> {
        let blind = if self.records.profile.blind_renewal {
            self.renew_blind(leases, ttl)
        } else {
            Ok(BlindRenewal::ReadFirst)
        };
        let outcome = match blind {
            Ok(BlindRenewal::Renewed(done)) => Ok(done),
            Ok(BlindRenewal::ReadFirst) => {
                let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
                self.run(&Wanted::nodes(&nodes), true, |view, caller| {
                    renew(view, leases, ttl, caller)
                })
            }
            Err(undone) => Err(undone),
        };
        let done = outcome.map_err(|undone| self.may_have_written(undone))?;
        // Also for holders elsewhere: a namespace that has had a lease is not new, whatever the store says later.
        let written = done.answer.iter().flatten();
        written.for_each(|record| self.seen.note(record));
        Ok(done)
    }

    fn release_some(&mut self, leases: &[HeldLease]) -> Result<Renewals, StoreError> {
        let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
        let outcome = self.run(&Wanted::nodes(&nodes), true, |view, caller| {
            release(view, leases, caller)
        });
        let done = outcome.map_err(|undone| self.may_have_written(undone))?;
        Ok(done.answer)
    }

    /// Remembers a write that may have happened.
    fn may_have_written(&mut self, undone: Undone) -> StoreError {
        if let Some((nonce, change)) = undone.tried.map(|tried| *tried) {
            self.seen.note_tried(&change.nodes, nonce);
        }
        undone.error
    }
}

/// The leases of presented grants. A node id that is named twice is refused before anything is written: no engine writes a
/// key twice at once.
fn all_presented(
    grants: &[PresentedGrant],
    request: &RequestId,
) -> Result<Vec<HeldLease>, StoreError> {
    let mut known = BTreeSet::new();
    let mut node_ids = grants.iter().map(|presented| presented.grant.node_id);
    if let Some(node_id) = node_ids.find(|node_id| !known.insert(*node_id)) {
        return Err(StoreError::Invalid(format!(
            "the lease of node id {node_id} is named twice: once is allowed"
        )));
    }
    let presented = |grant: &PresentedGrant| {
        let LastWrite { serial, nonce } = grant.last_write;
        let next = request.nonce_after(grant)?;
        Ok(HeldLease {
            grant: grant.grant,
            written: Some((serial, nonce)),
            // The write of a first try whose reply was lost has this nonce.
            tried: vec![next],
            next: Some(next),
        })
    };
    grants.iter().map(presented).collect()
}
