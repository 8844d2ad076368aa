//! Ending leases early.

use super::{Asking, Change, Decision, Held, NodeChange, NodeRecord, View};

/// Ends each lease at the end of its grant, which the holder has set to the first tick that it did not use: never
/// later than it was, nor before its start. What is not held any more stays as it is. No clock plays a part.
#[must_use]
pub fn release(view: &View, leases: &[Held], asking: &Asking<'_>) -> Decision<Vec<NodeRecord>> {
    let released = leases.iter().filter_map(|lease| {
        let record = view.record(lease.grant.node_id)?;
        let is_ours = record.is_of(&lease.grant) && record.held && lease.wrote(record);
        is_ours.then(|| NodeChange {
            before: Some(record.clone()),
            after: NodeRecord {
                end: lease.grant.end.min(record.end).max(record.start),
                serial: record.serial + 1,
                nonce: asking.fresh.1,
                held: false,
                ..record.clone()
            },
        })
    });
    let nodes: Vec<_> = released.collect();
    let answer = nodes.iter().map(|change| change.after.clone()).collect();
    Decision {
        change: Change {
            nodes,
            ..Change::none(view)
        },
        answer: Ok(answer),
    }
}
