//! Requests for two node ids.

use randflake_lease::unstable::rules::{self, Acquire, Caller, Change, NodeRecord};
use randflake_lease::{AcquireRequest, Loss, NodeIds, StoreError};

use crate::answers::{COLUMNS, namespace, node, outcome, refusal};
use crate::inputs::{Inputs, NODE_ID, number, token};

const OTHER_ID: u32 = NODE_ID + 1;
/// Inputs of the other node id, and how many of both are wanted.
const INPUTS: [&str; 19] = [
    "wanted",
    "other_node_there",
    "other_node_start",
    "other_node_end",
    "other_node_fencing",
    "other_node_serial",
    "other_node_token",
    "other_node_nonce",
    "other_node_held",
    "other_node_contested",
    "other_node_knows",
    "other_lease_end",
    "other_lease_fencing",
    "other_lease_token",
    "other_lease_written",
    "other_lease_serial",
    "other_lease_nonce",
    "other_lease_tried",
    "other_lease_next",
];
const OPERATIONS: [&str; 3] = ["acquire_both", "renew_both", "release_both"];
/// The columns of a node id.
const NODE: usize = 14;

pub(crate) fn names() -> impl Iterator<Item = String> {
    let names = OPERATIONS.into_iter().flat_map(|operation| {
        let first = COLUMNS
            .iter()
            .map(move |column| format!("{operation}.{column}"));
        let other = ["code"].iter().chain(&COLUMNS[NODE..]);
        first.chain(other.map(move |column| format!("{operation}_other.{column}")))
    });
    INPUTS.iter().map(ToString::to_string).chain(names)
}

/// The other inputs, and what is answered and written.
pub(crate) fn row(inputs: &Inputs, random: &mut fastrand::Rng) -> Vec<i64> {
    let other = other(inputs, random);
    let wanted = random.i64(1..3);
    let mut row = vec![
        wanted,
        other.node_there,
        other.node_start,
        other.node_end,
        other.node_fencing,
        other.node_serial,
        other.node_token,
        other.node_nonce,
        other.node_held,
        other.node_contested,
        other.node_knows,
        other.lease_end,
        other.lease_fencing,
        other.lease_token,
        other.lease_written,
        other.lease_serial,
        other.lease_nonce,
        other.lease_tried,
        other.lease_next,
    ];
    row.extend(answers(inputs, &other, wanted));
    row
}

/// Like the first one, with small differences.
fn other(inputs: &Inputs, random: &mut fastrand::Rng) -> Inputs {
    let by = [0, 0, 1, -1, 10, -10][random.usize(..6)];
    let node_end = (inputs.node_end + by).max(inputs.node_start);
    Inputs {
        node_there: i64::from(random.u8(..100) < 85),
        node_end,
        node_serial: random.i64(1..4),
        node_token: random.i64(0..3) / 2,
        node_nonce: random.i64(0..3),
        node_held: i64::from(random.u8(..100) < 80),
        node_knows: 1 + i64::from(random.u8(..5) == 0),
        lease_end: (node_end + random.i64(-1..2)).max(0),
        lease_serial: random.i64(1..4),
        lease_nonce: random.i64(0..3),
        lease_tried: random.i64(-1..3),
        ..*inputs
    }
}

fn answers(inputs: &Inputs, other: &Inputs, wanted: i64) -> Vec<i64> {
    let (terms, seen) = (inputs.terms(), inputs.seen());
    let mut view = inputs.view();
    view.nodes.push(other.listed(OTHER_ID));
    let caller = Caller {
        terms: &terms,
        seen: &seen,
        clock: inputs.window(),
        fresh: (number(inputs.fresh_origin), number(inputs.fresh_nonce)),
        capabilities: crate::inputs::small(inputs.knows),
    };
    let tried = u64::try_from(inputs.acquire_tried).ok();
    let acquisition = Acquire {
        request: AcquireRequest {
            token: token(inputs.acquire_token),
            holder: "a",
            nodes: NodeIds::Any(u32::try_from(wanted).unwrap()),
            ttl: number(inputs.ttl),
        },
        tried: tried.as_slice(),
        within: inputs.within(),
    };
    let leases = [inputs.lease(NODE_ID), other.lease(OTHER_ID)];
    let acquired = rules::acquire(&view, &acquisition, &caller);
    let code = acquired.answer.map_or_else(|error| refusal(&error), |_| 0);
    let renewed = rules::renew(&view, &leases, number(inputs.ttl), &caller);
    let released = rules::release(&view, &leases, &caller);
    [
        values([code; 2], &acquired.change),
        values(codes(&renewed.answer), &renewed.change),
        values(codes(&released.answer), &released.change),
    ]
    .concat()
}

fn codes(answer: &Result<Vec<Result<NodeRecord, Loss>>, StoreError>) -> [i64; 2] {
    match answer.as_deref() {
        Err(error) => [refusal(error); 2],
        Ok([first, other]) => [outcome(first), outcome(other)],
        Ok(outcomes) => panic!("{outcomes:?}"),
    }
}

fn values([first, other]: [i64; 2], change: &Change) -> Vec<i64> {
    let written = |node_id| {
        let found = change.nodes.iter().find(|it| it.after.node_id == node_id);
        found.map_or([0; 9], |change| node(&change.after))
    };
    let mut row = vec![first];
    row.extend(change.namespace_after.as_ref().map_or([0; 13], namespace));
    row.extend(written(NODE_ID));
    row.push(other);
    row.extend(written(OTHER_ID));
    row
}
