//! The rule of granting node ids.

use core::time::Duration;
use std::collections::BTreeSet;

use super::{
    Caller, Decision, Form, HistoryLink, NamespaceState, NodeChange, NodeRecord, StoreTime, View,
};
use crate::types::{AcquireRequest, NodeIds, QuarantineCause, StoreError};

/// How much further ahead than any lease can end one may end before a start is told so instead of
/// waiting for it: clocks that are set while a machine starts jump by less.
const WORTH_WAITING: Duration = Duration::from_secs(24 * 3_600);

/// A request to acquire, and what this process knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Acquire<'a> {
    /// The request, which is the same when it is repeated after a lost reply.
    pub request: AcquireRequest<'a>,
    /// The nonces of earlier tries whose outcome is not known.
    pub tried: &'a [u64],
    /// First and last node id that may be granted.
    pub within: (u32, u32),
}

impl Acquire<'_> {
    fn allows(&self, node_id: u32) -> bool {
        self.request.nodes.allow(node_id) && (self.within.0..=self.within.1).contains(&node_id)
    }
}

/// Grants all node ids that the request names, or none.
///
/// A node id is free when its last lease has ended by the store's clock. A lease from a try whose
/// outcome was not known is claimed by a further write, which only one of two copies of a process
/// can do.
#[must_use]
pub fn acquire(
    view: &View,
    acquisition: &Acquire<'_>,
    caller: &Caller<'_>,
) -> Decision<Vec<NodeRecord>> {
    let mut state = match NamespaceState::of_a_holder(view, caller) {
        Ok(state) => state,
        // Nothing is written here: the engine, the clock or the terms are wrong, and so would a
        // quarantine be that follows from them.
        Err(refusal) => return Decision::refused(refusal),
    };
    match grants(view, acquisition, caller, &mut state) {
        Ok(changes) => {
            let granted = changes.iter().map(|change| change.after.clone()).collect();
            let mut change = state.into_change();
            change.nodes = changes;
            let answer = Ok(granted);
            Decision { change, answer }
        }
        // A quarantine that was noticed is written although nothing is granted: it begins for all.
        Err(refusal) => Decision {
            change: state.into_change(),
            answer: Err(refusal),
        },
    }
}

fn grants(
    view: &View,
    acquisition: &Acquire<'_>,
    caller: &Caller<'_>,
    state: &mut NamespaceState,
) -> Result<Vec<NodeChange>, StoreError> {
    // First: who does not know the version must not claim either what an earlier try was granted.
    state.check_holder(caller.capabilities)?;
    state.record.terms.check_key_number(caller.terms)?;
    check(acquisition, state)?;
    let now = state.now;
    let wanted = acquisition.request.nodes.count() as usize;
    // An engine may offer a node id both as requested and as free.
    let mut known = BTreeSet::new();
    let mut nodes: Vec<_> = view.nodes.iter().collect();
    nodes.retain(|node| known.insert(node.node_id));
    // Also for what an earlier try was granted: the store may have forgotten that a copy of this
    // process claimed it.
    state.check_quarantine()?;
    state.check_youth(view, acquisition.within, acquisition.request.nodes)?;
    // First what an earlier try of this acquire was granted: its answer may have been lost.
    let mut changes: Vec<_> = nodes
        .iter()
        .filter_map(|node| claim(node.record.as_ref()?, now, acquisition, caller))
        .collect();
    // What an earlier try was granted beyond this is not released: its holder does not know of it,
    // and it expires.
    if changes.len() >= wanted {
        changes.truncate(wanted);
        return Ok(changes);
    }
    // Fewer than requested: an acquire grants everything or nothing, and unclaimed leases end by
    // themselves.
    changes.clear();
    // A release needs no case of its own: it has moved `end` to the first unused tick.
    let free = nodes.iter().filter(|node| {
        let former = node.record.as_ref();
        acquisition.allows(node.node_id) && former.is_none_or(|former| former.end <= now.tick)
    });
    for node in free.take(wanted) {
        let former = node.record.as_ref();
        if now.tick < caller.seen.end_of(node.node_id) {
            // The store has forgotten a lease of this very process.
            state.quarantine(view, caller.seen, QuarantineCause::Lost);
            state.check_quarantine()?;
        }
        changes.push(NodeChange {
            before: node.record.clone(),
            after: NodeRecord {
                node_id: node.node_id,
                // Not before the former end, by the filter above, so intervals are disjoint.
                start: now.tick,
                end: now.end_after(acquisition.request.ttl)?,
                // Above every earlier token, and at least `start`: so it grows even if the record
                // of the former lease was lost. `+ 1` cannot overflow: a record with the highest
                // token is not read.
                fencing_token: now
                    .tick
                    .max(former.map_or(0, |former| former.fencing_token + 1)),
                // `serial` and `nonce` tell the writer of this lease from a copy of its process at
                // the next renewal.
                serial: 1,
                token: acquisition.request.token,
                nonce: caller.fresh.1,
                held: true,
                contested: false,
                // The former record goes to the history in the same write.
                past: former.map_or_else(HistoryLink::default, HistoryLink::behind),
                holder: acquisition.request.holder.to_owned(),
                capabilities: caller.capabilities,
                // What a later version has added to the record stays with the node id.
                form: former.map_or_else(Form::default, |former| former.form.clone()),
            },
        });
    }
    if changes.len() < wanted {
        // Says when to try again: the soonest end for any node ids, the latest one for chosen ones.
        let ends = nodes
            .iter()
            .filter_map(|node| Some(node.record.as_ref()?.end))
            .filter(|end| now.tick < *end);
        let free_from = match acquisition.request.nodes {
            NodeIds::Any(_) => view.free_from.or(ends.min()),
            NodeIds::These(_) => ends.max(),
        };
        let free_from = free_from.unwrap_or(now.tick);
        let retry_in = now.until(free_from);
        // There is no other node id to hope for, and no right clock grants a lease that ends so far
        // ahead.
        let beyond = now.until(free_from.saturating_sub(state.span()));
        if acquisition.within.0 == acquisition.within.1 && beyond > WORTH_WAITING {
            return Err(StoreError::LeaseAhead {
                ends: now.unix.saturating_add(retry_in),
                ends_in: retry_in,
            });
        }
        return Err(StoreError::Exhausted { retry_in });
    }
    // Hints and searches give them in any order; callers are told the order of node ids.
    changes.sort_unstable_by_key(|change| change.after.node_id);
    Ok(changes)
}

/// Claims the lease of an earlier try, if it is there: under a new nonce, so that no copy of this
/// process can claim it too.
fn claim(
    record: &NodeRecord,
    now: StoreTime,
    acquisition: &Acquire<'_>,
    caller: &Caller<'_>,
) -> Option<NodeChange> {
    // All of it must hold: the token names the acquire, the nonce the try of this very process; a
    // lease that has ended may be granted to others at any moment.
    let is_ours = record.held
        && record.token == acquisition.request.token
        && acquisition.tried.contains(&record.nonce)
        && now.tick < record.end;
    is_ours.then(|| NodeChange {
        before: Some(record.clone()),
        after: NodeRecord {
            serial: record.serial + 1,
            nonce: caller.fresh.1,
            capabilities: caller.capabilities,
            ..record.clone()
        },
    })
}

fn check(acquisition: &Acquire<'_>, state: &NamespaceState) -> Result<(), StoreError> {
    if !crate::types::holder::is_allowed(acquisition.request.holder) {
        return Err(StoreError::Invalid(format!(
            "a holder's name of {} bytes or with control characters: at most {} bytes without them are \
             allowed",
            acquisition.request.holder.len(),
            crate::types::holder::MAX_LEN
        )));
    }
    // Everything below is the caller's mistake: no retry helps, so each refusal says what is
    // allowed.
    let max = state.record.terms.spec.max_node_id();
    let (first, last) = (acquisition.within.0, acquisition.within.1.min(max));
    let most = (u64::from(last) + 1).saturating_sub(first.into());
    let count = acquisition.request.nodes.count();
    // One node id only, as with an assigned one: the message names it instead of a range.
    let is_that_one = match acquisition.request.nodes {
        NodeIds::Any(count) => count == 1,
        NodeIds::These(chosen) => chosen == [first],
    };
    if first == last && !is_that_one {
        return Err(StoreError::Invalid(format!(
            "one node id is leased here, {first}: no other and no more can be"
        )));
    }
    if count == 0 || u64::from(count) > most {
        return Err(StoreError::Invalid(format!(
            "{count} node ids asked for: 1 to {most} are allowed"
        )));
    }
    if let NodeIds::These(chosen) = acquisition.request.nodes {
        // Chosen node ids are checked against both ranges, so that the message names the one that
        // is meant.
        let is_within = |node_id: &u32| (first..=last).contains(node_id);
        if let Some(node_id) = chosen.iter().find(|id| **id <= max && !is_within(id)) {
            return Err(StoreError::Invalid(format!(
                "node id {node_id} is not one of those that may be leased here: {first} to {last} are"
            )));
        }
        if let Some(node_id) = chosen.iter().find(|node_id| **node_id > max) {
            return Err(StoreError::Invalid(format!(
                "node id {node_id} is out of range: 0 to {max} are allowed"
            )));
        }
        let mut known = BTreeSet::new();
        if let Some(node_id) = chosen.iter().find(|node_id| !known.insert(**node_id)) {
            return Err(StoreError::Invalid(format!(
                "node id {node_id} is asked for twice: once is allowed"
            )));
        }
    }
    state.check_ttl(acquisition.request.ttl)
}
