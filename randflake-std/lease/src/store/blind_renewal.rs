//! Renewal without a read, for engines whose write checks the conditions.

use core::time::Duration;

use super::LeaseStore;
use super::clock_estimate::Exchange;
use super::fresh::fresh;
use super::leases::Renewals;
use super::operation::{Done, Undone};
use crate::rules::{Committed, Decision, HeldLease, Node, View, renew};
use crate::vocabulary::StoreError;

/// What became of a renewal without a read.
pub(super) enum BlindRenewal {
    /// All leases were renewed.
    Renewed(Done<Renewals>),
    /// Something is not known, or not as it was: nothing was written, and the store has to be read.
    ReadFirst,
}

impl LeaseStore {
    /// Renews leases by the same rule, on what this process wrote last and the estimate of the store's clock. The engine
    /// writes only if all of that is still so.
    pub(super) fn renew_blind(
        &mut self,
        leases: &[HeldLease],
        ttl: u64,
    ) -> Result<BlindRenewal, Undone> {
        // First of all: unless it stepped, the store's clock is no earlier at the write than the
        // estimate for now.
        let sent = self.machine.now();
        // None if a lease, or the outcome of its last write, is not known to this process.
        let nodes: Option<Vec<Node>> = leases
            .iter()
            .map(|lease| self.seen.node_of(&lease.grant))
            .collect();
        let estimate = self.estimate;
        let time = estimate.and_then(|it| Some((it.blind(&sent)?, it.compared())));
        let (Some(nodes), Some(((now, window), compared)), Some(record)) =
            (nodes, time, self.seen.namespace().cloned())
        else {
            return Ok(BlindRenewal::ReadFirst);
        };
        let view = View::carried(now, record, nodes);
        let fresh = fresh().map_err(StoreError::unavailable)?;
        // No window to check: `now` is the estimate itself. The write compares the store's clock.
        let Decision { mut change, answer } = renew(&view, leases, ttl, &self.caller(None, fresh));
        // A loss or a quarantine is never decided from memory.
        let is_all = |answer: &Renewals| answer.iter().all(Result::is_ok);
        let renewed = answer.ok().filter(is_all);
        let Some(renewed) = renewed.filter(|_| change.namespace_after.is_none()) else {
            return Ok(BlindRenewal::ReadFirst);
        };
        let ends = change.nodes.iter().filter_map(|node| node.before.as_ref());
        let soonest = ends.map(|before| before.end).min();
        // By the store's clock at the write, not by the estimate, no lease may have expired.
        let expires = soonest.map_or(now, |end| {
            let end = self.namespace.spec().unix_ms(end);
            // The last moment before its end: at the end the node id may be granted to others.
            Duration::from_millis(end.saturating_sub(1))
        });
        change.window = Some((window.least, window.most.min(expires)));
        match self.records.commit(&change) {
            Ok(Committed::Done { now }) => {
                let received = self.machine.now();
                let exchange = Exchange { sent, received };
                self.answered(change.namespace_before, now, exchange, compared);
                Ok(BlindRenewal::Renewed(Done {
                    answer: renewed,
                    now,
                }))
            }
            // A record, the fingerprint or the clock may differ. Only a read tells which.
            Ok(Committed::Stale) => Ok(BlindRenewal::ReadFirst),
            Err(error) => Err(Undone {
                error: error.into(),
                tried: Some(Box::new((fresh.1, change))),
            }),
        }
    }
}
