//! Leases of a store: acquire, renew, release and list.

use core::time::Duration;
use std::collections::BTreeSet;

use super::LeaseStore;
use super::clock_estimate::Exchange;
use super::operation::{ClockCheck, Completed, Failure, fresh};
use crate::rules::{
    Acquire, Change, CurrentLease, Decision, Demand, LeaseCheck, Node, NodeRecord, View,
    WriteOutcome, acquire, check, release, renew,
};
use crate::types::{
    AcquireRequest, Acquisition, ClientGrant, ClientRenewal, Grant, LastWrite, Loss, NodeIds,
    Record, Renewal, RequestId, StoreError, Token,
};

/// Part of the TTL that a [check of leases](LeaseStore::check_leases) has as its time limit.
const CHECK_TTL_DIVISOR: u64 = 4;

/// Outcome of a renewal or release for each lease: its record, or why it is lost.
type Renewals = Vec<Result<NodeRecord, Loss>>;

/// Outcome of a renewal without a read.
enum BlindRenewal {
    /// All leases were renewed.
    Renewed(Completed<Renewals>),
    /// Something is not known, or not as it was: nothing was written, and the store has to be read.
    ReadFirst,
}

/// An acquire of unknown outcome, whose grants a repetition claims.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    token: Token,
    nonces: Vec<u64>,
    nodes: Vec<u32>,
}

impl Pending {
    fn new(token: Token) -> Self {
        Self {
            token,
            nonces: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// One more write that may have happened.
    fn add(&mut self, unconfirmed: Option<Box<(u64, Change)>>) {
        let Some((nonce, change)) = unconfirmed.map(|it| *it) else {
            return;
        };
        self.nonces.push(nonce);
        self.nodes
            .extend(change.nodes.iter().map(|node| node.after.node_id));
    }
}

impl LeaseStore {
    /// Grants all that the request asks for at once, or nothing.
    ///
    /// After [`StoreError::Unavailable`] the outcome is unknown. The operation is idempotent: the
    /// same request, repeated here, gets what the lost one was granted.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquisition, StoreError> {
        self.limit_for(request.ttl)?;
        self.check_batch(request.nodes.count())?;
        let mut pending = self.take_pending(request.token);
        let within = self.within();
        let acquisition = Acquire {
            request: *request,
            tried: &pending.nonces,
            within,
        };
        let (chosen, free) = match request.nodes {
            // More than there are is for the rule to refuse.
            NodeIds::Any(count) => (&[][..], u64::from(count).min(self.namespace.node_ids())),
            NodeIds::These(chosen) => (chosen, 0),
        };
        // What an earlier try may have written is read by its number: it is not free any more.
        let nodes = [&pending.nodes, chosen].concat();
        let demand = Demand {
            nodes: &nodes,
            free: usize::try_from(free).unwrap_or(usize::MAX),
            within: Some(within),
            // Filled in by `run` for each try.
            seen: None,
        };
        let outcome = self.run(&demand, ClockCheck::ThisMachine, |view, caller| {
            acquire(view, &acquisition, caller)
        });
        match outcome {
            Ok(completed) => Ok(self.granted(&completed)),
            Err(failure) => {
                pending.add(failure.unconfirmed);
                // Also after a refusal: what an earlier try has written can still be claimed.
                self.pending = Some(pending);
                Err(failure.error)
            }
        }
    }

    /// Moves the end of each grant to `ttl` ticks from now, never back.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the TTL is over the namespace's longest,
    /// [`StoreError::ClockSkew`] when the store's clock has leapt since its last answer, and
    /// [`StoreError::Unavailable`]; the same renewal may be made again.
    pub fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewal, StoreError> {
        self.limit_for(ttl)?;
        let leases: Vec<_> = grants
            .iter()
            .map(|it| self.seen.current_lease(it))
            .collect();
        let Completed { answer, now } = self.renew_all(&leases, ttl)?;
        let ends = answer.into_iter().map(|it| it.map(|record| record.end));
        Ok(Renewal {
            ends: ends.collect(),
            now,
        })
    }

    /// Ends each grant at its `end`, which the caller has set to the first unused tick. Grants that
    /// are no longer held stay as they are.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; the same release may be made again.
    pub fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let max_batch = self.ready()?.profile.max_batch;
        // The first chunk that fails ends it: those before are released, and may be again.
        for grants in grants.chunks(max_batch) {
            let leases: Vec<_> = grants
                .iter()
                .map(|it| self.seen.current_lease(it))
                .collect();
            let released = self.release_some(&leases)?;
            // With the end cut: else this process could not lease the node id again before the old
            // end, because the store would seem to have forgotten a lease.
            released.iter().flatten().for_each(|it| self.seen.note(it));
        }
        Ok(())
    }

    /// Renews grants whose holder is elsewhere, as [`renew`](Self::renew) does: a server calls it
    /// for its clients.
    ///
    /// Each grant comes with what its last write gave. The holder that made the record's last write
    /// goes on; a copy of it, which presents an older one, gets [`Loss::Contested`]. The same
    /// request, repeated here or through another store of the namespace, gets the same answer.
    ///
    /// # Errors
    ///
    /// As for `renew`; and [`StoreError::Invalid`] when the request made the last write of one of
    /// the grants.
    pub fn renew_for_client(
        &mut self,
        grants: &[ClientGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<ClientRenewal, StoreError> {
        self.limit_for(ttl)?;
        let leases = client_leases(grants, request)?;
        let Completed { answer, now } = self.renew_all(&leases, ttl)?;
        let outcomes = answer
            .into_iter()
            .map(|it| it.map(|record| record.client_grant()));
        Ok(ClientRenewal {
            outcomes: outcomes.collect(),
            now,
        })
    }

    /// Ends grants whose holder is elsewhere, as [`release`](Self::release) does. Returns for each,
    /// in the order given, why nothing was released: a copy of the holder gets [`Loss::Contested`],
    /// and the lease stays as it is.
    ///
    /// # Errors
    ///
    /// As for `release`; and [`StoreError::Invalid`] when the request made the last write of one of
    /// the grants.
    pub fn release_for_client(
        &mut self,
        grants: &[ClientGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        let leases = client_leases(grants, request)?;
        let max_batch = self.ready()?.profile.max_batch;
        let mut outcomes = Vec::with_capacity(leases.len());
        // After an error the caller repeats the whole request: what was written is recognized.
        for leases in leases.chunks(max_batch) {
            let released = self.release_some(leases)?.into_iter();
            outcomes.extend(released.map(|outcome| outcome.map(drop)));
        }
        Ok(outcomes)
    }

    /// Checks leases as a renewal of `ttl` ticks would, by one read where the store can. Nothing is
    /// written, and no clock is compared.
    ///
    /// # Errors
    ///
    /// Those of the engine: nothing is known then.
    pub fn check_leases(&mut self, grants: &[Grant], ttl: u64) -> Result<LeaseCheck, StoreError> {
        // A look that waits for its server must not delay a renewal.
        self.limit_for(ttl / CHECK_TTL_DIVISOR)?;
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let view = self.records.read(&Demand::nodes(&nodes))?;
        self.records.engine().abandon();
        let leases: Vec<_> = grants
            .iter()
            .map(|it| self.seen.current_lease(it))
            .collect();
        // Nothing is written, so it takes no numbers.
        Ok(check(&view, &leases, ttl, &self.caller(None, (0, 0))))
    }

    /// Returns every record in order of node ids, including leases that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        self.list_from(0, usize::MAX)
    }

    /// Returns the first `most` records from a node id on, in order of node ids, including leases
    /// that have expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        // Without terms, clock or quarantine: a list must show what is there, above all in trouble.
        let records = self.ready()?.list(first..=u32::MAX, most)?;
        Ok(records.into_iter().map(Record::from).collect())
    }

    /// The first and the last node id that it may be granted: of those that the engine keeps.
    fn within(&self) -> (u32, u32) {
        let (first, last) = self.records.profile.node_ids;
        let within = self.within.unwrap_or((first, last));
        // Two limits that do not meet leave nothing to grant, and the rule refuses every request.
        (within.0.max(first), within.1.min(last))
    }

    /// An engine on a server waits for a part of the TTL only, so that another try is in time.
    fn limit_for(&mut self, ttl: u64) -> Result<(), StoreError> {
        let ttl = self.namespace.span(ttl);
        self.ready()?.engine().limit_for(ttl);
        Ok(())
    }

    /// Refuses more node ids than the engine can write at once.
    fn check_batch(&self, count: u32) -> Result<(), StoreError> {
        // All or nothing is one write, so it cannot be split as renewals are.
        let max_batch = self.records.profile.max_batch;
        if count as usize <= max_batch {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "{count} node ids asked for at once: this store grants at most {max_batch}"
        )))
    }

    /// The acquire of unknown outcome, if it is of this token.
    fn take_pending(&mut self, token: Token) -> Pending {
        // Another token is another request: what the former one was granted expires by itself.
        let pending = self.pending.take();
        (pending.filter(|pending| pending.token == token)).unwrap_or_else(|| Pending::new(token))
    }

    /// Remembers granted leases, and prunes the history of their node ids.
    fn granted(&mut self, completed: &Completed<Vec<NodeRecord>>) -> Acquisition {
        let Completed { answer, now } = completed;
        for record in answer {
            self.seen.note(record);
            // The grant does not depend on what this removes, so it cannot fail here.
            self.records.prune(record);
        }
        Acquisition {
            grants: answer.iter().map(NodeRecord::grant).collect(),
            last_writes: answer.iter().map(NodeRecord::last_write).collect(),
            now: *now,
        }
    }

    /// Renews leases, as many at once as the engine can.
    fn renew_all(
        &mut self,
        leases: &[CurrentLease],
        ttl: u64,
    ) -> Result<Completed<Renewals>, StoreError> {
        // Before the first chunk, which may find another namespace and remember its namespace
        // nonce.
        let namespace_nonce = self.seen.namespace_nonce();
        let max_batch = self.records.profile.max_batch;
        // Also of none: the namespace is looked at, and the time returned.
        let (first, rest) = leases.split_at(leases.len().min(max_batch));
        let mut renewed = self.renew_some(first, ttl)?;
        for leases in rest.chunks(max_batch) {
            if namespace_nonce.is_some() && self.seen.namespace_nonce() != namespace_nonce {
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

    fn renew_some(
        &mut self,
        leases: &[CurrentLease],
        ttl: u64,
    ) -> Result<Completed<Renewals>, StoreError> {
        let completed = self
            .try_renew(leases, ttl)
            .map_err(|failure| self.note_unconfirmed(failure))?;
        // Also for holders elsewhere: a namespace that has had a lease is not new, whatever the
        // store says later.
        for record in completed.answer.iter().flatten() {
            self.seen.note(record);
        }
        Ok(completed)
    }

    fn try_renew(
        &mut self,
        leases: &[CurrentLease],
        ttl: u64,
    ) -> Result<Completed<Renewals>, Failure> {
        if self.records.profile.blind_renewal
            && let BlindRenewal::Renewed(completed) = self.renew_blind(leases, ttl)?
        {
            return Ok(completed);
        }
        let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
        self.run(
            &Demand::nodes(&nodes),
            ClockCheck::LastAnswer,
            |view, caller| renew(view, leases, ttl, caller),
        )
    }

    /// Renews leases by the same rule, on what this process wrote last and the estimate of the
    /// store's clock. The engine writes only if all of that is still so.
    fn renew_blind(&mut self, leases: &[CurrentLease], ttl: u64) -> Result<BlindRenewal, Failure> {
        // Before all else: unless it stepped, the store's clock is no earlier at the write than the
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
        let renewed = answer
            .ok()
            .filter(|answer: &Renewals| answer.iter().all(Result::is_ok));
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
            Ok(WriteOutcome::Written { now }) => {
                let received = self.machine.now();
                let exchange = Exchange { sent, received };
                self.note_answer(change.namespace_before, now, exchange, compared);
                Ok(BlindRenewal::Renewed(Completed {
                    answer: renewed,
                    now,
                }))
            }
            // A record, the fingerprint or the clock may differ. Only a read tells which.
            Ok(WriteOutcome::Stale) => Ok(BlindRenewal::ReadFirst),
            Err(error) => Err(Failure {
                error: error.into(),
                unconfirmed: Some(Box::new((fresh.1, change))),
            }),
        }
    }

    fn release_some(&mut self, leases: &[CurrentLease]) -> Result<Renewals, StoreError> {
        let nodes: Vec<_> = leases.iter().map(|lease| lease.grant.node_id).collect();
        let released = self.run(
            &Demand::nodes(&nodes),
            ClockCheck::LastAnswer,
            |view, caller| release(view, leases, caller),
        );
        match released {
            Ok(completed) => Ok(completed.answer),
            Err(failure) => Err(self.note_unconfirmed(failure)),
        }
    }

    /// Remembers a write that may have happened.
    fn note_unconfirmed(&mut self, failure: Failure) -> StoreError {
        if let Some((nonce, change)) = failure.unconfirmed.map(|it| *it) {
            self.seen.note_tried(&change.nodes, nonce);
        }
        failure.error
    }
}

/// The leases of presented grants. A node id that is named twice is refused before anything is
/// written: no engine writes a key twice at once.
fn client_leases(
    grants: &[ClientGrant],
    request: &RequestId,
) -> Result<Vec<CurrentLease>, StoreError> {
    let mut known = BTreeSet::new();
    let mut node_ids = grants.iter().map(|presented| presented.grant.node_id);
    if let Some(node_id) = node_ids.find(|node_id| !known.insert(*node_id)) {
        return Err(StoreError::Invalid(format!(
            "the lease of node id {node_id} is named twice: once is allowed"
        )));
    }
    let presented = |grant: &ClientGrant| {
        let LastWrite { serial, nonce } = grant.last_write;
        let next = request.nonce_after(grant)?;
        Ok(CurrentLease {
            grant: grant.grant,
            written: Some((serial, nonce)),
            // The write of a first try whose reply was lost has this nonce.
            tried: vec![next],
            next: Some(next),
        })
    };
    grants.iter().map(presented).collect()
}
