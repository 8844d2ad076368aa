//! Answers and writes of each operation, as numbers.

use randflake_lease::unstable::rules::{
    self, Acquire, Caller, Change, Decision, NamespaceRecord, NodeRecord,
};
use randflake_lease::{AcquireRequest, Loss, NodeIds, QuarantineCause, StoreError};

use crate::inputs::{Inputs, NODE_ID, number, token};
use crate::keys;

const OPERATIONS: [&str; 15] = [
    "acquire",
    "renew",
    "release",
    "create",
    "reopen",
    "quarantine",
    "end_quarantine",
    "override_quarantine",
    "declare_moved",
    "drop_namespace",
    "outlast",
    "announce",
    "withdraw",
    "raise",
    "next_key",
];
pub(crate) const COLUMNS: [&str; 23] = [
    "code",
    "namespace_written",
    "origin",
    "writes",
    "quarantine",
    "since",
    "cause",
    "dropped",
    "fingerprint",
    "identity",
    "max_ttl_ms",
    "seal",
    "holder_version",
    "record_version",
    "node_written",
    "start",
    "end",
    "fencing",
    "serial",
    "nonce",
    "held",
    "contested",
    "knows",
];

pub(crate) fn names() -> impl Iterator<Item = String> {
    OPERATIONS.into_iter().flat_map(|operation| {
        COLUMNS
            .iter()
            .map(move |column| format!("{operation}.{column}"))
    })
}

pub(crate) fn of(inputs: &Inputs) -> Vec<i64> {
    let (view, terms, seen) = (inputs.view(), inputs.terms(), inputs.seen());
    let caller = Caller {
        terms: &terms,
        seen: &seen,
        clock: inputs.window(),
        fresh: (number(inputs.fresh_origin), number(inputs.fresh_nonce)),
        capabilities: crate::inputs::small(inputs.knows),
    };
    let tried: Vec<u64> = u64::try_from(inputs.acquire_tried)
        .ok()
        .into_iter()
        .collect();
    let acquisition = Acquire {
        request: AcquireRequest {
            token: token(inputs.acquire_token),
            holder: "a",
            nodes: if inputs.is_chosen == 1 {
                NodeIds::These(&[NODE_ID])
            } else {
                NodeIds::Any(1)
            },
            ttl: number(inputs.ttl),
        },
        tried: &tried,
        within: inputs.within(),
    };
    let leases = [inputs.lease(NODE_ID)];
    let (ttl, latest_end) = (number(inputs.ttl), number(inputs.latest_end));
    [
        row(rules::acquire(&view, &acquisition, &caller)),
        lost(&rules::renew(&view, &leases, ttl, &caller)),
        lost(&rules::release(&view, &leases, &caller)),
        row(rules::create(&view, &caller)),
        row(rules::reopen(&view, &caller)),
        row(rules::quarantine(&view, &caller)),
        row(rules::end_quarantine(
            &view,
            &caller,
            inputs.has_leases == 1,
        )),
        row(rules::override_quarantine(&view, &caller)),
        row(rules::declare_moved(&view, &caller)),
        row(rules::drop_namespace(&view, &caller)),
        row(rules::outlast(&view, latest_end)),
        row(rules::announce(&view, &caller)),
        row(rules::withdraw(&view, &caller)),
        raised(rules::raise(
            &view,
            &caller,
            u64::try_from(inputs.announced).ok(),
        )),
        row(rules::next_key(
            &view,
            keys::key(inputs.next_seal).unwrap(),
            &caller,
        )),
    ]
    .concat()
}

fn row<T>(decision: Decision<T>) -> Vec<i64> {
    values(
        decision.answer.map_or_else(|error| refusal(&error), |_| 0),
        &decision.change,
    )
}

/// Of a version that is raised, or is not because the announcement was overtaken.
fn raised(decision: Decision<bool>) -> Vec<i64> {
    let code = match decision.answer {
        Ok(true) => 0,
        Ok(false) => 9,
        Err(error) => refusal(&error),
    };
    values(code, &decision.change)
}

/// Of a renewal or a release: the one lease's loss, if it has one.
fn lost(decision: &Decision<Vec<Result<NodeRecord, Loss>>>) -> Vec<i64> {
    let code = decision.answer.as_deref().map_or_else(refusal, |outcomes| {
        let [outcome] = outcomes else {
            panic!("{outcomes:?}")
        };
        self::outcome(outcome)
    });
    values(code, &decision.change)
}

pub(crate) fn outcome(outcome: &Result<NodeRecord, Loss>) -> i64 {
    match outcome {
        Ok(_) => 0,
        Err(Loss::Released) => 10,
        Err(Loss::Contested) => 11,
        Err(Loss::Forgotten) => 12,
        Err(Loss::Expired) => 13,
        Err(other) => panic!("{other:?}"),
    }
}

pub(crate) fn refusal(error: &StoreError) -> i64 {
    match error {
        StoreError::ClockSkew { .. } => 1,
        StoreError::Terms { .. } => 2,
        StoreError::Dropped { .. } => 3,
        StoreError::FailedPrecondition(_) => 4,
        StoreError::Invalid(_) => 5,
        StoreError::Quarantined { .. } => 6,
        StoreError::Exhausted { .. } => 7,
        StoreError::NotNew(_) => 8,
        StoreError::KeyNumber { .. } => 14,
        other => panic!("{other}"),
    }
}

fn values(code: i64, change: &Change) -> Vec<i64> {
    let mut row = vec![code];
    row.extend(change.namespace_after.as_ref().map_or([0; 13], namespace));
    assert!(change.nodes.len() <= 1);
    row.extend(
        change
            .nodes
            .first()
            .map_or([0; 9], |node| self::node(&node.after)),
    );
    row
}

pub(crate) fn namespace(record: &NamespaceRecord) -> [i64; 13] {
    let reason = record.reason;
    let causes = 0..4;
    let cause = causes
        .into_iter()
        .find(|place| cause(*place) == reason.cause)
        .unwrap();
    [
        1,
        signed(record.namespace_nonce),
        signed(record.writes),
        signed(record.quarantine),
        signed(reason.since),
        cause,
        reason.is_dropped.into(),
        // None of a dropped copy that was moved.
        record.fingerprint.parse().unwrap_or(-1),
        record.identity.parse().unwrap(),
        signed(record.terms.max_ttl_ms.unwrap()),
        keys::column(record.terms.key_check),
        record.versions.holder.into(),
        record.versions.written.into(),
    ]
}

pub(crate) fn node(record: &NodeRecord) -> [i64; 9] {
    [
        1,
        signed(record.start),
        signed(record.end),
        signed(record.fencing_token),
        signed(record.serial),
        signed(record.nonce),
        record.held.into(),
        record.contested.into(),
        record.capabilities.into(),
    ]
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap()
}

pub(crate) fn cause(place: i64) -> QuarantineCause {
    match place {
        0 => QuarantineCause::New,
        1 => QuarantineCause::Lost,
        2 => QuarantineCause::Asked,
        _ => QuarantineCause::Dropped,
    }
}
