//! The operations on leases.

use core::ops::RangeInclusive;

use super::attempt::{Done, Undone};
use super::steps::all_presented;
use super::{LeaseStore, Pending};
use crate::rules::{Acquire, NodeRecord, Wanted, acquire};
use crate::vocabulary::{
    AcquireRequest, Acquired, Grant, KeyCheck, Loss, NodeIds, PresentedGrant, PresentedRenewal,
    Renewed, RequestId, StoreError,
};

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

    /// Whether it is on a server, which may be restarted while this process goes on. Known once the store was opened.
    #[must_use]
    pub fn is_on_server(&self) -> bool {
        self.records.profile.has_own_clock
    }

    /// Whether the connection to the server has broken since it was last used or asked, as far as is known without a round
    /// trip. The clients of MySQL and etcd do not tell.
    pub fn has_disconnected(&mut self) -> bool {
        self.records.engine().has_disconnected()
    }

    /// Whether the store still has these leases: by one read, where the store can. Nothing is written.
    ///
    /// # Errors
    ///
    /// As for `renew`.
    pub fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        self.ready()?;
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            ..Wanted::default()
        };
        let view = self.records.read(&wanted)?;
        self.records.engine().abandon();
        let is_there = |grant: &Grant| {
            let record = view.record(grant.node_id);
            record.is_some_and(|record| record.is_of(grant))
        };
        Ok(grants.iter().all(is_there))
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
        self.ready()?;
        let AcquireRequest {
            token,
            holder,
            nodes,
            ttl,
        } = *request;
        self.records.engine().limit_for(self.namespace.span(ttl));
        let at_once = self.records.profile.max_batch;
        if nodes.count() as usize > at_once {
            return Err(StoreError::Invalid(format!(
                "{} node ids asked for at once: this store grants at most {at_once}",
                nodes.count()
            )));
        }
        let pending = self.pending.take().filter(|pending| pending.token == token);
        let mut pending = pending.unwrap_or(Pending {
            token,
            nonces: Vec::new(),
            nodes: Vec::new(),
        });
        let asked = Acquire {
            token,
            holder,
            nodes,
            ttl,
            tried: &pending.nonces,
            within: self.within.unwrap_or((0, u32::MAX)),
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
        let read = [&pending.nodes, chosen].concat();
        let wanted = Wanted {
            nodes: &read,
            free,
            within: self.within,
            seen: None,
        };
        match self.run(&wanted, false, |view, caller| acquire(view, &asked, caller)) {
            Ok(Done { answer, now }) => {
                for record in &answer {
                    self.wrote(record);
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
                if !pending.nonces.is_empty() {
                    self.pending = Some(pending);
                }
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
        self.ready()?;
        self.records.engine().limit_for(self.namespace.span(ttl));
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let renewed = self.renew_all(&leases, ttl, Self::wrote)?;
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
        self.ready()?;
        let mut chunks = grants.chunks(self.records.profile.max_batch);
        let mut release_chunk = |grants: &[Grant]| {
            let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
            for record in self.release_some(&leases)?.iter().flatten() {
                self.wrote(record);
            }
            Ok(())
        };
        release_chunk(chunks.next().unwrap_or_default())?;
        chunks.try_for_each(release_chunk)
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
        self.ready()?;
        self.records.engine().limit_for(self.namespace.span(ttl));
        let leases = all_presented(grants, request)?;
        let renewed = self.renew_all(&leases, ttl, |_, _| ())?;
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
        self.ready()?;
        let leases = all_presented(grants, request)?;
        let mut outcomes = Vec::with_capacity(leases.len());
        for leases in leases.chunks(self.records.profile.max_batch) {
            let released = self.release_some(leases)?.into_iter();
            outcomes.extend(released.map(|outcome| outcome.map(drop)));
        }
        Ok(outcomes)
    }
}
