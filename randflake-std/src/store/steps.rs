//! What the operations on leases are made of.

use std::collections::BTreeSet;

use super::attempt::{Done, Renewals, Undone};
use super::{LeaseStore, Written};
use crate::rules::{HeldLease, NodeRecord, Wanted, release, renew};
use crate::vocabulary::Loss;
use crate::vocabulary::holder::DEVICE;
use crate::vocabulary::{Grant, LastWrite, PresentedGrant, RequestId, StoreError};

impl LeaseStore {
    /// What this process knows of a grant.
    pub(super) fn held(&self, grant: &Grant) -> HeldLease {
        let written = self.written.get(&grant.node_id);
        // A device's lease may be renewed by any server, in turns.
        let is_ours = |written: &&Written| {
            written.record.is_of(grant) && !written.record.holder.starts_with(DEVICE)
        };
        let written = written.filter(is_ours);
        HeldLease {
            grant: *grant,
            written: written.map(|written| (written.record.serial, written.record.nonce)),
            tried: written.map_or_else(Vec::new, |written| written.tried.clone()),
            next: None,
        }
    }

    /// Notes a write that was answered.
    pub(super) fn wrote(&mut self, record: &NodeRecord) {
        self.seen.note(record);
        if self.seen.is_proxy() {
            return;
        }
        let written = Written {
            record: record.clone(),
            tried: Vec::new(),
        };
        self.written.insert(record.node_id, written);
    }

    /// Notes a write that may have happened.
    pub(super) fn may_have_written(&mut self, undone: Undone) -> StoreError {
        if let Some((nonce, change)) = undone.tried.map(|tried| *tried) {
            for after in change.nodes.iter().map(|node| &node.after) {
                if let Some(written) = self.written.get_mut(&after.node_id) {
                    written.tried.push(nonce);
                }
            }
        }
        undone.error
    }

    fn renew_some(&mut self, leases: &[HeldLease], ttl: u64) -> Result<Done<Renewals>, StoreError> {
        let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            ..Wanted::default()
        };
        let mut outcome = Ok(None);
        if self.records.profile.blind_renewal {
            outcome = self.renew_unread(leases, ttl);
        }
        let outcome = match outcome {
            Ok(Some(done)) => Ok(done),
            Ok(None) => self.run(&wanted, true, |view, caller| {
                renew(view, leases, ttl, caller)
            }),
            Err(undone) => Err(undone),
        };
        outcome.map_err(|undone| self.may_have_written(undone))
    }

    /// Renews leases, as many at once as the engine can.
    pub(super) fn renew_all(
        &mut self,
        leases: &[HeldLease],
        ttl: u64,
        note: impl Fn(&mut Self, &NodeRecord),
    ) -> Result<Done<Renewals>, StoreError> {
        let origin = self.seen.origin();
        let mut chunks = leases.chunks(self.records.profile.max_batch);
        let mut renewed = self.renew_some(chunks.next().unwrap_or_default(), ttl)?;
        renewed
            .answer
            .iter()
            .flatten()
            .for_each(|record| note(self, record));
        for leases in chunks {
            if origin.is_some() && self.seen.origin() != origin {
                // Of a namespace that is gone or another no lease is left.
                let lost = leases.iter().map(|_| Err(Loss::Forgotten));
                renewed.answer.extend(lost);
                continue;
            }
            let more = self.renew_some(leases, ttl)?;
            more.answer
                .iter()
                .flatten()
                .for_each(|record| note(self, record));
            renewed.answer.extend(more.answer);
            renewed.now = more.now;
        }
        Ok(renewed)
    }

    pub(super) fn release_some(&mut self, leases: &[HeldLease]) -> Result<Renewals, StoreError> {
        let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            ..Wanted::default()
        };
        let outcome = self.run(&wanted, true, |view, caller| release(view, leases, caller));
        let done = outcome.map_err(|undone| self.may_have_written(undone))?;
        Ok(done.answer)
    }
}

/// What the holders of presented grants have to show for them. A node id that is named twice is refused before anything is
/// written: no engine writes a key twice at once.
pub(super) fn all_presented(
    grants: &[PresentedGrant],
    request: &RequestId,
) -> Result<Vec<HeldLease>, StoreError> {
    let mut known = BTreeSet::new();
    let node_ids = grants.iter().map(|presented| presented.grant.node_id);
    if let Some(node_id) = node_ids.into_iter().find(|node_id| !known.insert(*node_id)) {
        return Err(StoreError::Invalid(format!(
            "the lease of node id {node_id} is named twice: once is allowed"
        )));
    }
    grants
        .iter()
        .map(|grant| presented(grant, request))
        .collect()
}

/// What the holder of a presented grant has to show for it.
fn presented(grant: &PresentedGrant, request: &RequestId) -> Result<HeldLease, StoreError> {
    let LastWrite { serial, nonce } = grant.last_write;
    let next = request.nonce_after(grant)?;
    Ok(HeldLease {
        grant: grant.grant,
        written: Some((serial, nonce)),
        tried: vec![next],
        next: Some(next),
    })
}
