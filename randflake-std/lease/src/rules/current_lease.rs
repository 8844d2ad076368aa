//! The rules of a current lease: its holder renews it, ends it early, or checks it between
//! renewals.

use core::iter;
use core::time::Duration;

use super::{
    Caller, Change, Decision, NamespaceRecord, NamespaceState, NodeChange, NodeRecord, StoreTime,
    View,
};
use crate::types::{Grant, Loss, MAX_SKEW, QuarantineCause, StoreError};

/// A lease as its holder knows it.
#[derive(Clone, Debug)]
pub struct CurrentLease {
    /// Node id, interval and tokens of the lease.
    pub grant: Grant,
    /// Serial and nonce of the last write by this holder; `None` if it has not written it, as a
    /// server that continues for another.
    pub written: Option<(u64, u64)>,
    /// Nonces of later writes whose outcome is unknown.
    pub tried: Vec<u64>,
    /// The nonce of the next write, where a request of the holder names it; else a fresh one. It is
    /// among the `tried`: a repetition of the request finds what it wrote, and gets the same
    /// answer.
    pub next: Option<u64>,
}

impl CurrentLease {
    /// Whether this holder made the record's last write.
    pub(super) fn wrote(&self, record: &NodeRecord) -> bool {
        // A server that continues for another holder has not written the lease: any last write of
        // this grant counts as its own.
        let Some((serial, nonce)) = self.written else {
            return true;
        };
        // A store that has forgotten a renewal may have given its serial to a copy.
        (record.serial, record.nonce) == (serial, nonce)
            || (record.serial > serial && self.tried.contains(&record.nonce))
    }

    /// Whether the last write of the record is the one that this request asks for.
    pub(super) fn repeats(&self, record: &NodeRecord) -> bool {
        self.next == Some(record.nonce) && self.wrote(record)
    }

    /// Reason why the lease is lost, if that can be said without a clock.
    pub(super) fn loss(&self, view: &View) -> Option<Loss> {
        let (grant, record) = (&self.grant, view.record(self.grant.node_id)?);
        // A serial at or above ours with an unknown nonce: somebody with the same grant has
        // written, so a copy of this process exists.
        let is_by_a_copy = |(serial, _)| record.serial >= serial && !self.wrote(record);
        // The tokens agree: the record is of this very grant, even if a copy wrote it last.
        if record.is_of(grant) {
            if !record.held {
                return Some(Loss::Released);
            }
            return self
                .written
                .is_some_and(is_by_a_copy)
                .then_some(Loss::Contested);
        }
        // Others were granted the node id only from our end on. A lease that begins before our end
        // overlaps with ours: then the store has forgotten ours, which is for the caller to say.
        let is_later = record.fencing_token > grant.fencing_token && record.start >= grant.end;
        is_later.then_some(Loss::Expired)
    }
}

/// Moves the end of each lease to `ttl` ticks from now, never back.
#[must_use]
pub fn renew(
    view: &View,
    leases: &[CurrentLease],
    ttl: u64,
    caller: &Caller<'_>,
) -> Decision<Vec<Result<NodeRecord, Loss>>> {
    if view.is_dropped() {
        // A renewal never reopens a dropped namespace; that is for an acquire.
        return all_lost(view, leases, Loss::Released);
    }
    // The namespace was recreated: leases of the former one must not be renewed in it.
    let is_missed = caller.seen.misses(view.namespace.as_ref());
    if let Some(another) = view.namespace.as_ref().filter(|_| is_missed) {
        return superseded(view, another, leases, caller);
    }
    let mut state = match NamespaceState::of_a_holder(view, caller) {
        Ok(state) => state,
        // A wrong clock writes nothing, but the leases are lost under any clock.
        Err(StoreError::ClockSkew { .. }) if is_missed => {
            return all_lost(view, leases, Loss::Forgotten);
        }
        // The clock of a resumed machine is late until somebody sets it. No end is written by a
        // wrong clock.
        Err(refusal @ StoreError::ClockSkew { .. }) => return lost(view, leases, refusal),
        Err(refusal) => return Decision::refused(refusal),
    };
    // Leases end under their key's number, so that after one longest TTL nobody issues under an old
    // key. Those that are lost anyway are reported as lost.
    if let Err(refusal) = state.record.terms.check_key_number(caller.terms) {
        return lost(view, leases, refusal);
    }
    if let Err(refusal) = check_request(view, leases, ttl, &state, caller) {
        return Decision::refused(refusal);
    }
    let mut changes: Vec<NodeChange> = Vec::with_capacity(leases.len());
    let mut outcomes = Vec::with_capacity(leases.len());
    // One by one: a lease that is lost takes no other with it.
    for lease in leases {
        match renewable(view, lease, &state, is_missed) {
            Ok(record) => {
                let change = renewal(record, lease, state.now.extended(ttl), caller);
                outcomes.push(Ok(change.after.clone()));
                changes.push(change);
            }
            Err((loss, record)) => {
                // A proxy must not begin a quarantine: else a client that may renew could stop all
                // grants by presenting a lease that never existed.
                if loss == Loss::Forgotten && !caller.seen.is_proxy() {
                    state.quarantine(view, caller.seen, QuarantineCause::Lost);
                }
                changes.extend(mark(loss, record));
                outcomes.push(Err(loss));
            }
        }
    }
    // Also without a renewal: a quarantine that was noticed is written, so that others see it.
    let mut change = state.into_change();
    change.nodes = changes;
    Decision {
        change,
        answer: Ok(outcomes),
    }
}

/// Refuses a renewal as a whole: by its TTL, a lease that was edited, or one that an older program
/// must not renew.
fn check_request(
    view: &View,
    leases: &[CurrentLease],
    ttl: u64,
    state: &NamespaceState,
    caller: &Caller<'_>,
) -> Result<(), StoreError> {
    state.check_ttl(ttl)?;
    for lease in leases {
        check_start(view, lease)?;
    }
    // Older servers may renew what newer ones have, in turns. But once an upgrade is announced, it
    // may have looked for leases of older holders already: none may become one.
    let has_newer = leases.iter().any(|lease| {
        view.record(lease.grant.node_id).is_some_and(|record| {
            record.is_of(&lease.grant) && caller.capabilities < record.capabilities
        })
    });
    if has_newer {
        state.check_holder(caller.capabilities)?;
    }
    Ok(())
}

/// The change that renews a lease until `end`.
fn renewal(record: &NodeRecord, lease: &CurrentLease, end: u64, caller: &Caller<'_>) -> NodeChange {
    // The repetition of a request that was written gets the same answer. The record stays, and is
    // confirmed: an engine may show a write whose log is not on the disk yet.
    if lease.repeats(record) {
        return NodeChange::confirmed(record);
    }
    NodeChange {
        before: Some(record.clone()),
        after: NodeRecord {
            // Never back: an earlier end could free ticks that the holder has already used.
            end: record.end.max(end),
            serial: record.serial + 1,
            nonce: lease.next.unwrap_or(caller.fresh.1),
            // Servers may renew it in turns. An upgrade asks what the last of them knew.
            capabilities: caller.capabilities,
            ..record.clone()
        },
    }
}

/// All leases are lost for the same reason; nothing is written.
fn all_lost(
    view: &View,
    leases: &[CurrentLease],
    loss: Loss,
) -> Decision<Vec<Result<NodeRecord, Loss>>> {
    Decision {
        change: Change::none(view),
        answer: Ok(vec![Err(loss); leases.len()]),
    }
}

/// Refuses a lease whose start is not that of its record, as in a document that was edited: ticks
/// before the start were another holder's.
fn check_start(view: &View, lease: &CurrentLease) -> Result<(), StoreError> {
    let grant = &lease.grant;
    match view.record(grant.node_id) {
        Some(record) if record.is_of(grant) && record.start != grant.start => {
            Err(StoreError::Invalid(format!(
                "the lease of node id {} starts at tick {}, and tick {} is presented as its start: \
                 nothing was renewed; present the grant as it was answered",
                grant.node_id, record.start, grant.start
            )))
        }
        _ => Ok(()),
    }
}

/// Reports all leases as lost, because another namespace, with any terms, is in the place of
/// theirs.
///
/// Their own namespace was lost, and they with it, whatever is stored under their node ids. The
/// other one is quarantined until they end, and not changed otherwise. Leases that a client
/// presents to a proxy do not even do that: a client could close a namespace by leases that never
/// existed.
fn superseded(
    view: &View,
    another: &NamespaceRecord,
    leases: &[CurrentLease],
    caller: &Caller<'_>,
) -> Decision<Vec<Result<NodeRecord, Loss>>> {
    // `Change::none`: the terms of the other namespace may be others than the caller's, so no state
    // is made of it.
    let mut change = Change::none(view);
    if !caller.seen.is_proxy() {
        let end = leases
            .iter()
            .map(|lease| lease.grant.end)
            .fold(caller.seen.latest_end(), u64::max);
        let until = caller.terms.spec.unix_ms(end);
        // In time, not in ticks: the layout of the other namespace may differ.
        change.namespace_after = another.quarantined_until(view.now, Duration::from_millis(until));
    }
    Decision {
        change,
        answer: Ok(vec![Err(Loss::Forgotten); leases.len()]),
    }
}

/// The reason why each lease is lost, if that can be said without a clock for all; else the
/// refusal.
fn lost(
    view: &View,
    leases: &[CurrentLease],
    refusal: StoreError,
) -> Decision<Vec<Result<NodeRecord, Loss>>> {
    // All or nothing: an answer for some leases would let the caller take the refusal for the
    // others.
    let losses: Option<Vec<Loss>> = leases.iter().map(|lease| lease.loss(view)).collect();
    let Some(losses) = losses.filter(|losses| !losses.is_empty()) else {
        return Decision::refused(refusal);
    };
    // Marks need no clock, so they may be written although it is wrong.
    let mut change = Change::none(view);
    change.nodes = iter::zip(leases, &losses)
        .filter_map(|(lease, &loss)| mark(loss, view.record(lease.grant.node_id)))
        .collect();
    Decision {
        change,
        answer: Ok(losses.into_iter().map(Err).collect()),
    }
}

/// Marks the record of a contested lease, for people who list leases.
pub(super) fn mark(loss: Loss, record: Option<&NodeRecord>) -> Option<NodeChange> {
    // Marked once: a second mark would only cost a write.
    let record = record.filter(|record| loss == Loss::Contested && !record.contested)?;
    Some(NodeChange {
        before: Some(record.clone()),
        after: NodeRecord {
            contested: true,
            ..record.clone()
        },
    })
}

/// The record to renew, or why the lease is lost. `is_missed`: the lease's namespace is gone.
fn renewable<'v>(
    view: &'v View,
    lease: &CurrentLease,
    state: &NamespaceState,
    is_missed: bool,
) -> Result<&'v NodeRecord, (Loss, Option<&'v NodeRecord>)> {
    let grant = &lease.grant;
    let now = state.now;
    let record = view.record(grant.node_id);
    if let Some(loss) = lease.loss(view) {
        return Err((loss, record));
    }
    // By the end that the holder knows. If the store does not have the lease before that, it has
    // forgotten it.
    let absence = forgotten(now.tick < grant.end);
    match record {
        // A record with an earlier end than the holder's has been set back, and counts as
        // forgotten.
        Some(record) if record.is_of(grant) && lease.wrote(record) && record.end >= grant.end => {
            // From its end on the node id may be another's, so even its holder comes too late.
            if now.tick >= record.end || !state.trusts(record, now) {
                Err((Loss::Expired, Some(record)))
            } else if is_missed {
                // A record without its namespace is nobody's: that may be recreated with other
                // terms.
                Err((absence, Some(record)))
            } else {
                Ok(record)
            }
        }
        _ => Err((absence, record)),
    }
}

const fn forgotten(should_live: bool) -> Loss {
    if should_live {
        Loss::Forgotten
    } else {
        Loss::Expired
    }
}

impl NamespaceState {
    /// During a quarantine, a store may have forgotten that a lease expired, by a clock that was
    /// ahead of this one, and that its node id was granted to another. So then only leases are
    /// renewed that had not expired by any clock.
    fn trusts(&self, record: &NodeRecord, now: StoreTime) -> bool {
        let skew = self.record.terms.ticks(2 * MAX_SKEW);
        self.quarantine_left().is_zero() || now.tick.saturating_add(skew) < record.end
    }
}

/// Ends each lease at the end of its grant, which the holder has set to the first tick that it did
/// not use: never later than it was, nor before its start. What is not held any more stays as it
/// is. No clock plays a part.
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
        // A repetition whose first reply was lost: the answer is the same, and nothing is written.
        // If the engine loses what it has just shown, the lease ends as it was granted, and nobody
        // issues under it until then.
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
            // Later than its end it would free nothing; before its start it would overlap the lease
            // before.
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

/// What a holder learns of its leases by a look, which writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseCheck {
    /// Why each lease is lost, or `None` if a renewal would renew it.
    pub losses: Vec<Option<Loss>>,
    /// Whether a renewal would write something for all clients of the namespace, such as a
    /// quarantine, or be refused: so it is not to wait for its time.
    pub is_urgent: bool,
}

/// Checks leases as a renewal does, which is not made.
#[must_use]
pub fn check(view: &View, leases: &[CurrentLease], ttl: u64, caller: &Caller<'_>) -> LeaseCheck {
    let decision = renew(view, leases, ttl, caller);
    let is_quarantine = decision.change.namespace_after.is_some();
    match decision.answer {
        Ok(outcomes) => LeaseCheck {
            losses: outcomes.into_iter().map(Result::err).collect(),
            is_urgent: is_quarantine,
        },
        Err(_) => LeaseCheck {
            losses: vec![None; leases.len()],
            is_urgent: true,
        },
    }
}

impl LeaseCheck {
    /// Whether the store is as it was, as far as these leases tell.
    #[must_use]
    pub fn is_same(&self) -> bool {
        !self.is_urgent && self.losses.iter().all(Option::is_none)
    }
}
