//! Keeper: the thread that renews leases and replaces lost ones.

mod scaling;
#[cfg(test)]
pub(super) mod tests;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use randflake_core::{AnyLayout, LayoutSpec, Permutation};
use randflake_lease::backoff::{RENEWALS_PER_TTL, random_part, with_jitter};
use randflake_lease::unstable::clock::wall_exact;
use randflake_lease::{Grant, Loss, NodeIds, StoreError};

use super::elastic::{NodeIdCount, Scale};
use super::issuer::Issuer;
use super::phase::{Demand, Wake};
use super::shared::SharedHandle;
use super::store_client::{LookOutcome, StoreClient, failure_pause};
use crate::look_schedule::{LookSchedule, Step};
use crate::observability::{events, metrics};

/// A lease of this handle, as its keeper knows it: its slot, and whether it is still held.
pub(super) struct SlotLease {
    pub(super) slot: usize,
    pub(super) grant: Grant,
    /// The store has confirmed it, as far as is known.
    pub(super) is_held: bool,
    /// It cannot be extended any more, so the slot needs another grant.
    pub(super) is_ending: bool,
    /// Tick and sequence of its next id at the last look: no change means that it is unused.
    pub(super) position: (u64, u32),
}

impl SlotLease {
    pub(super) fn new(slot: usize, grant: Grant) -> Self {
        Self {
            slot,
            grant,
            is_held: true,
            is_ending: false,
            // Where its sequencer begins: a grant that has issued nothing does not count as active.
            position: (grant.start, 0),
        }
    }

    /// Marks a lost grant as one to replace, and reports it.
    fn mark_lost(&mut self, loss: Loss, namespace: &str) {
        (self.is_held, self.is_ending) = (false, true);
        events::lost(namespace, self.grant.node_id, loss.name());
        metrics::lost(namespace, loss.name());
    }

    /// Stops issuing from a grant, and returns it cut to its used part if this process may release
    /// it: not if a copy of the machine may be using it.
    pub(super) fn retire<L: AnyLayout, P: Permutation + Send + Sync + 'static>(
        &self,
        shared: &SharedHandle<L, P>,
        issuer: &Issuer<L>,
    ) -> Option<Grant> {
        // Not released if it was closed before: it was lost, and may be another process's.
        let unused_from = shared.close_issuer(issuer)?;
        let is_ours = issuer.is_of(shared.generation.now());
        is_ours.then_some(Grant {
            end: unused_from,
            ..self.grant
        })
    }
}

pub(super) struct LeaseKeeper<L: AnyLayout, P: Permutation + Send + Sync + 'static> {
    pub(super) shared: Arc<SharedHandle<L, P>>,
    pub(super) client: StoreClient,
    /// Grants in use, one per occupied slot.
    pub(super) leases: Vec<SlotLease>,
    /// The node ids were chosen: a lost one is not replaced by another.
    is_chosen: bool,
    /// Scaling of an elastic handle; `None` if the number of node ids is fixed.
    pub(super) scale: Option<Scale>,
    /// Looks at the store between renewals; `None` if it needs none.
    looks: Option<LookSchedule>,
    /// Number of failed renewals or replacements since the last success.
    pub(super) failures: u32,
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> LeaseKeeper<L, P> {
    pub(super) fn new(
        shared: Arc<SharedHandle<L, P>>,
        mut client: StoreClient,
        grants: Vec<Grant>,
        is_chosen: bool,
        count: NodeIdCount,
    ) -> Self {
        let leases = grants
            .into_iter()
            .enumerate()
            .map(|(slot, grant)| SlotLease::new(slot, grant))
            .collect();
        let now = Instant::now();
        let scale = count
            .is_elastic()
            .then(|| Scale::new(count, client.store.namespace().node_ids(), client.ttl, now));
        // That of the build is of before the schedule: it must not hide that the connection broke
        // since.
        client.take_answer();
        let looks = LookSchedule::new(
            client.store.look_every(),
            client.store.is_on_server(),
            client.ttl,
            now,
            random_part(),
        );
        Self {
            shared,
            client,
            leases,
            is_chosen,
            scale,
            looks,
            failures: 0,
        }
    }

    /// Renews and replaces leases until the handle is closed, then releases them.
    pub(super) fn run(mut self) {
        // Also after a panic: `close` waits for this.
        let _ended = EndedOnDrop(Arc::clone(&self.shared));
        let mut due = Instant::now() + self.renewal_pause();
        // Dashboards and alerts know of the leases before the first renewal, which is a third of a
        // TTL away.
        self.report();
        if let Some(scale) = &self.scale {
            metrics::wanted(self.client.namespace(), scale.wanted());
        }
        loop {
            let pause = self.pause(due, Instant::now());
            let demand = self.shared.demand.as_ref();
            let wake = self
                .shared
                .phase
                .pause(pause, || demand.is_some_and(Demand::is_urgent));
            if wake == Wake::Close {
                break;
            }
            if wake == Wake::Copy || due <= Instant::now() || self.looks_lost(due) {
                // The left operand is evaluated first, so the pause counts from before the request:
                // an answer that takes long does not move the next renewal towards the lease's end.
                due = Instant::now() + self.renew_and_replace();
            }
            self.scale(Instant::now());
            self.note_answer();
            self.shared.tally.report(self.client.namespace());
        }
        let released = self.release_all();
        self.report();
        // A handle that was closed must not look like one whose lease is about to expire.
        metrics::expires(self.client.namespace(), Duration::ZERO);
        self.shared
            .phase
            .change(|phase| phase.release_error = released.err());
    }

    /// Time until whatever comes first.
    fn pause(&self, due: Instant, now: Instant) -> Duration {
        // The monotonic clock may stand still while the machine is suspended; then the renewal is
        // late by that time, and what is issued until then has old ticks of its own lease: see
        // `AnchoredClock`.
        let until_renewal = due.saturating_duration_since(now);
        let periods = [
            self.scale.as_ref().map(|_| Scale::PERIOD),
            self.looks.as_ref().map(|looks| looks.pause(now)),
            metrics::REPORT_EVERY,
        ];
        periods
            .into_iter()
            .flatten()
            .fold(until_renewal, Duration::min)
    }

    /// Looks at the store if that is due. Returns whether to renew now, and not when a renewal is
    /// `due`: it finds out which leases are lost, counts them and replaces them.
    fn looks_lost(&mut self, due: Instant) -> bool {
        let now = Instant::now();
        let Some(looks) = &mut self.looks else {
            return false;
        };
        let store = &mut self.client.store;
        let step = looks.step(now, due, || store.has_disconnected(), random_part());
        let is_broken = match step {
            Step::Wait => return false,
            Step::Renew => return true,
            Step::Look => false,
            Step::Read => true,
        };
        let held = self.leases.iter().filter(|lease| lease.is_held);
        let grants: Vec<_> = held.map(|lease| lease.grant).collect();
        let outcome = self.client.look(&grants, is_broken);
        self.note_answer();
        match outcome {
            // After an outage leases are renewed as soon as the server is back. A file that refuses
            // is there all the time.
            LookOutcome::Same => return self.failures > 0 && self.client.store.is_on_server(),
            LookOutcome::Unknown => return false,
            // The renewal counts them, and writes a quarantine.
            LookOutcome::Checked(losses) => self.close_lost(&losses),
            // It was said when the leases were lost, and a new try has its pause.
            LookOutcome::StoreLost(_) if grants.is_empty() => return false,
            LookOutcome::StoreLost(why) => {
                events::store_lost(self.client.namespace(), &why);
                self.lose(Loss::Forgotten, |_| true);
            }
        }
        true
    }

    /// Stops issuing from the leases that are lost, as a look has found for each that is held.
    fn close_lost(&self, losses: &[Option<Loss>]) {
        let slots = self.shared.slots.read();
        let held = self.leases.iter().filter(|lease| lease.is_held);
        let lost = held.zip(losses).filter(|(_, loss)| loss.is_some());
        let issuers = lost.filter_map(|(lease, _)| slots.value(lease.slot));
        issuers.for_each(|issuer| self.shared.lose(issuer));
    }

    /// Notes whether the last call of the store was answered: until one is, the store is looked at.
    fn note_answer(&mut self) {
        let now = Instant::now();
        match (&mut self.looks, self.client.take_answer()) {
            (Some(looks), Some(true)) => looks.answered(now),
            (Some(looks), Some(false)) => looks.failed(now, random_part()),
            (None, _) | (_, None) => {}
        }
    }

    /// Renews and replaces leases. Returns the pause until the next time.
    fn renew_and_replace(&mut self) -> Duration {
        // Before the renewal, which would extend a lease that another copy may be using.
        self.drop_copied_leases();
        let outcome = self.renew().and_then(|()| {
            self.drop_lost();
            self.replace()
        });
        let pause = match &outcome {
            Ok(()) => self.renewal_pause(),
            Err(error) => self.failure_pause(error),
        };
        self.shared
            .phase
            .change(|phase| phase.last_error = outcome.err().map(Arc::new));
        self.report();
        pause
    }

    /// Reports leases, capacity and counts of ids as metrics.
    pub(super) fn report(&self) {
        let namespace = self.client.namespace();
        let slots = self.shared.slots.read();
        let held = self.leases.iter().filter(|lease| lease.is_held);
        let issuers = held.filter_map(|lease| slots.value(lease.slot));
        let remaining = issuers.map(Issuer::remaining);
        let live: Vec<_> = remaining.filter(|left| !left.is_zero()).collect();
        // Without a live lease it stays as it was: alerts compare it with the time of the scrape.
        if let Some(longest) = live.iter().max() {
            metrics::expires(namespace, wall_exact().unwrap_or_default() + *longest);
        }
        metrics::leases(namespace, live.len());
        let spec = self.client.store.namespace().spec();
        let end = Duration::from_millis(spec.end_unix_ms());
        metrics::limits(namespace, capacity(spec, live.len()), end);
        self.shared.tally.report(namespace);
    }

    fn renewal_pause(&mut self) -> Duration {
        self.failures = 0;
        with_jitter(self.client.ttl / RENEWALS_PER_TTL)
    }

    fn failure_pause(&mut self, error: &StoreError) -> Duration {
        let pause = failure_pause(error, self.failures, self.client.ttl);
        self.failures = self.failures.saturating_add(1);
        pause
    }

    /// Drops the leases from before this machine was copied, without telling the store: the other
    /// copy may be using them.
    fn drop_copied_leases(&mut self) {
        let generation = self.shared.generation.now();
        self.lose(Loss::Contested, |issuer| !issuer.is_of(generation));
    }

    /// Stops issuing from some of the leases that are held, and counts them as lost.
    fn lose(&mut self, loss: Loss, is_lost: impl Fn(&Issuer<L>) -> bool) {
        let slots = self.shared.slots.read();
        let mut losses = Vec::new();
        for lease in self.leases.iter_mut().filter(|lease| lease.is_held) {
            let issuer = slots.value(lease.slot);
            if let Some(issuer) = issuer.filter(|issuer| is_lost(issuer)) {
                self.shared.lose(issuer);
                lease.mark_lost(loss, self.client.namespace());
                losses.push(loss);
            }
        }
        drop(slots);
        self.count(&losses);
    }

    /// Counts lost leases. If a copy of this process has some, it takes another name for itself.
    fn count(&mut self, losses: &[Loss]) {
        if losses.is_empty() {
            return;
        }
        self.shared
            .phase
            .change(|phase| losses.iter().for_each(|loss| phase.losses.count(*loss)));
        // The copy has the same name, so records could not tell the two apart.
        if losses.contains(&Loss::Contested) {
            self.client.rename();
        }
    }

    /// Renews all leases held in one call, and stops issuing from those that are lost.
    fn renew(&mut self) -> Result<(), StoreError> {
        let held = |lease: &&mut SlotLease| lease.is_held;
        let grants: Vec<Grant> = self
            .leases
            .iter_mut()
            .filter(held)
            .map(|lease| lease.grant)
            .collect();
        if grants.is_empty() {
            return Ok(());
        }
        let (renewed, sent) = self.client.renew(&grants)?;
        let layout = self.shared.codec.layout();
        let slots = self.shared.slots.read();
        let mut losses = Vec::new();
        let held = self.leases.iter_mut().filter(|lease| lease.is_held);
        // By position: `ends` has the order of `grants`, and that is the one of `leases`.
        for (lease, end) in held.zip(renewed.ends) {
            let Some(issuer) = slots.value(lease.slot) else {
                continue;
            };
            let end = match end {
                Ok(end) => end,
                Err(loss) => {
                    losses.push(loss);
                    // At once, and not when another lease is there: others may be granted the node
                    // id.
                    self.shared.lose(issuer);
                    lease.mark_lost(loss, self.client.namespace());
                    continue;
                }
            };
            // A renewal never shortens: ids up to the former end may have been taken in advance.
            lease.grant.end = lease.grant.end.max(end);
            // The end first: the store's time may be past the one that is known here.
            let extended = lease
                .grant
                .lease(layout)
                .is_ok_and(|lease| issuer.extend(lease).is_ok());
            issuer.clock.anchor(renewed.now, sent);
            self.shared.clock.anchor(renewed.now, sent);
            // If the clock of the store stepped back, a renewal gains nothing: another node id is
            // available sooner.
            lease.is_ending = !extended || issuer.remaining() < self.client.ttl / RENEWALS_PER_TTL;
        }
        drop(slots);
        self.count(&losses);
        Ok(())
    }

    /// Acquires grants for the slots that are ending, and releases what is still held of these.
    fn replace(&mut self) -> Result<(), StoreError> {
        let ending = self.leases.iter().filter(|lease| lease.is_ending);
        let former: Vec<_> = ending.map(|lease| lease.grant.node_id).collect();
        if former.is_empty() {
            return Ok(());
        }
        let wanted = if self.is_chosen {
            // The application derives something from chosen node ids, so they are not replaced by
            // others.
            NodeIds::These(&former)
        } else {
            NodeIds::Any(u32::try_from(former.len()).unwrap_or(u32::MAX))
        };
        // Before the former ones are released: if the store refuses, those issue on to their end.
        let acquired = self.acquire(wanted)?;
        let slots = self.shared.slots.read();
        let mut to_release = Vec::new();
        let ending = self.leases.iter_mut().filter(|lease| lease.is_ending);
        for (lease, (grant, issuer)) in ending.zip(acquired) {
            let former = slots.value(lease.slot);
            // The new one is in place before the former one is closed, so that no caller finds a
            // closed slot in between.
            self.shared.slots.replace(lease.slot, issuer);
            to_release.extend(former.and_then(|former| lease.retire(&self.shared, former)));
            *lease = SlotLease::new(lease.slot, grant);
        }
        drop(slots);
        // Before the release, which may take as long as a store that hangs: callers have ids now.
        self.shared.phase.has_acquired();
        self.client.release(&to_release)
    }

    /// Acquires node ids, each with an issuer that is not in use yet.
    pub(super) fn acquire(
        &mut self,
        nodes: NodeIds<'_>,
    ) -> Result<Vec<(Grant, Issuer<L>)>, StoreError> {
        // Read before the request: a lease that a copy of this machine was granted too is not used
        // then.
        let generation = self.shared.generation.now();
        let (acquired, sent) = self.client.acquire(nodes)?;
        self.shared.clock.anchor(acquired.now, sent);
        let layout = self.shared.codec.layout();
        let issuers = Issuer::of_all(layout, &acquired, sent, generation).map_err(|error| {
            self.client.release_unused(&acquired.grants);
            StoreError::failed_precondition(format!("the store's grant: {error}"))
        })?;
        Ok(acquired.grants.into_iter().zip(issuers).collect())
    }

    fn release_all(&mut self) -> Result<(), StoreError> {
        let slots = self.shared.slots.read();
        // All are closed before the first is released: the store grants a released node id at once.
        let retired = self.leases.iter().filter_map(|lease| {
            let issuer = slots.value(lease.slot)?;
            lease.retire(&self.shared, issuer)
        });
        let grants: Vec<Grant> = retired.collect();
        drop(slots);
        for lease in &mut self.leases {
            lease.is_held = false; // Closed, whatever becomes of the release.
        }
        self.client.release(&grants)
    }
}

/// How many ids a second leases of so many node ids allow.
#[expect(
    clippy::cast_precision_loss,
    reason = "a metric needs no more than 52 bits"
)]
fn capacity(spec: LayoutSpec, leases: usize) -> f64 {
    let per_tick = f64::from(spec.max_sequence()) + 1.0;
    per_tick * leases as f64 * 1_000.0 / spec.tick_ms() as f64
}

struct EndedOnDrop<L: AnyLayout, P: Permutation + Send + Sync + 'static>(Arc<SharedHandle<L, P>>);

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Drop for EndedOnDrop<L, P> {
    fn drop(&mut self) {
        self.0.phase.change(|phase| phase.ended = true);
    }
}
