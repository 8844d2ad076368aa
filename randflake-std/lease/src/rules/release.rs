//! The rule of ending leases early.

use super::renew::mark;
use super::{Caller, Change, CurrentLease, Decision, NodeChange, NodeRecord, View};
use crate::types::Loss;

/// Ends each lease at the end of its grant, which the holder has set to the first tick that it did not use: never
/// later than it was, nor before its start. What is not held any more stays as it is. No clock plays a part.
#[must_use]
pub fn release(
    view: &View,
    leases: &[CurrentLease],
    caller: &Caller<'_>,
) -> Decision<Vec<Result<NodeRecord, Loss>>> {
    let mut nodes = Vec::with_capacity(leases.len());
    let outcomes = leases.iter().map(|lease| {
        let record = view.record(lease.grant.node_id);
        // No clock: a wrong one must not keep a process from giving back what it has.
        let Some(record) = record.filter(|record| record.is_of(&lease.grant)) else {
            return Err(lease.loss(view).unwrap_or(Loss::Forgotten));
        };
        // A repetition whose first reply was lost: the answer is the same, and nothing is written. If the engine loses what
        // it has just shown, the lease ends as it was granted, and nobody issues under it until then.
        if !record.held && lease.repeats(record) {
            return Ok(record.clone());
        }
        if !record.held || !lease.wrote(record) {
            let loss = lease.loss(view).unwrap_or(Loss::Forgotten);
            // A copy of a process that ends tells nobody; who presents a grant is answered.
            nodes.extend(mark(loss, Some(record).filter(|_| lease.next.is_some())));
            return Err(loss);
        }
        let after = NodeRecord {
            // Later than its end it would free nothing; before its start it would overlap the lease before.
            end: lease.grant.end.min(record.end).max(record.start),
            serial: record.serial + 1,
            nonce: lease.next.unwrap_or(caller.fresh.1),
            held: false,
            ..record.clone()
        };
        nodes.push(NodeChange {
            before: Some(record.clone()),
            after: after.clone(),
        });
        Ok(after)
    });
    let outcomes = outcomes.collect();
    // No `NamespaceState` is made: a release is written in a quarantine, too. It is conditional on
    // the record of the namespace, so that none is written beside a drop.
    Decision {
        change: Change {
            nodes,
            ..Change::none(view)
        },
        answer: Ok(outcomes),
    }
}
