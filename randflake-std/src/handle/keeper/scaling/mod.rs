//! Scaling by the keeper: takes node ids and gives them back as the rule of [`Scale`] decides.

#[cfg(test)]
mod tests;

use core::cmp::Ordering;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use randflake_core::{AnyLayout, Permutation};
use randflake_lease::unstable::clock::is_coarse;
use randflake_lease::{NodeIds, StoreError};

use super::{LeaseKeeper, SlotLease};
use crate::handle::elastic::{Sample, Scale, Step, Used};
use crate::handle::phase::Demand;
use crate::observability::{events, metrics};

/// Most node ids of one acquire: fewer than any store grants at once.
const MOST_AT_ONCE: u32 = 64;

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> LeaseKeeper<L, P> {
    /// Observes the load, and takes or gives back node ids.
    pub(super) fn scale(&mut self, now: Instant) {
        // Taken out while it is used, since the methods below borrow all of the keeper.
        let Some(mut scale) = self.scale.take() else {
            return;
        };
        let mut sample = self.sample();
        sample.is_crowded = self.is_crowded(&scale);
        let before = (sample.held, scale.wanted);
        match scale.rule.step(sample, now) {
            Step::Take(count) => {
                scale.wanted = scale.wanted.max(sample.held + count);
                scale.wanted_at = now;
                // Otherwise it stays wanted, and is asked for when the pause after the last failure
                // is over.
                if self.can_take(&scale, now) {
                    self.take_more(&mut scale, count);
                }
            }
            // Only if the store answers: a lease that is not released stays taken until it expires.
            Step::GiveBack(count) if self.failures == 0 => self.give_back(count),
            Step::Yield(count) if self.failures == 0 => {
                self.give_back(count);
                scale.not_before = now + Scale::YIELDED;
            }
            Step::GiveBack(_) | Step::Yield(_) | Step::Keep => {}
        }
        if self.held() >= scale.wanted || now.duration_since(scale.wanted_at) >= scale.ttl {
            // A burst that is over must not be reported as a shortage for ever, so the wish ends
            // with a TTL in which it was not repeated.
            scale.wanted = self.held();
            if self.shared.phase.lock().shortage.is_some() {
                self.shared.phase.change(|phase| phase.shortage = None);
            }
        }
        if let Some(demand) = &self.shared.demand {
            // Only what was in the sample: a tick that ran out since then counts for the next one.
            if sample.ran_out {
                demand.clear();
            }
            demand.set_can_take(self.held() < scale.count.most && self.can_take(&scale, now));
        }
        // In each period, as a reader may have been there when a slot was vacated.
        self.shared.slots.reclaim();
        let is_changed = before != (self.held(), scale.wanted);
        if is_changed {
            events::scaled(self.client.namespace(), self.held(), scale.wanted);
            metrics::wanted(self.client.namespace(), scale.wanted);
            self.report();
        }
        self.scale = Some(scale);
    }

    /// Whether other holders may be waiting for node ids that this one has.
    fn is_crowded(&self, scale: &Scale) -> bool {
        let is_refused = matches!(
            self.shared.phase.lock().shortage.as_deref(),
            Some(StoreError::Exhausted { .. })
        );
        is_refused || (scale.leaves_a_share && self.held() >= scale.count.most)
    }

    /// Whether the store may be asked for more: it answered last time, or some time has passed.
    fn can_take(&self, scale: &Scale, now: Instant) -> bool {
        self.failures == 0 && scale.not_before <= now
    }

    /// Number of node ids, including lost ones that are not replaced yet.
    fn held(&self) -> u32 {
        u32::try_from(self.leases.len()).unwrap_or(u32::MAX)
    }

    fn sample(&mut self) -> Sample {
        let layout = self.shared.codec.layout();
        let spec = layout.spec();
        let per_tick = u64::from(spec.max_sequence()) + 1;
        let now = Duration::from_nanos(self.shared.clock.now_ns());
        let tick = spec.tick_at(now).unwrap_or_default();
        let slots = self.shared.slots.read();
        let (mut active, mut used) = (0, 0);
        for lease in &mut self.leases {
            let issuer = slots.value(lease.slot);
            let Some(position) = issuer.and_then(|issuer| issuer.sequencer.position()) else {
                continue;
            };
            active += u32::from(position != lease.position);
            lease.position = position;
            used += match position.0.cmp(&tick) {
                Ordering::Less => 0,
                Ordering::Equal => position.1.into(),
                // It has borrowed from a later tick, so all of this one is used.
                Ordering::Greater => per_tick,
            };
        }
        drop(slots);
        Sample {
            held: self.held(),
            active,
            // Ten looks in a second see one of a hundred ticks of a millisecond: what they show is
            // chance.
            used: is_coarse(layout).then_some(Used {
                ids: used,
                of: per_tick,
            }),
            ran_out: self.shared.demand.as_ref().is_some_and(Demand::has_run_out),
            is_crowded: false,
        }
    }

    /// Acquires up to `count` node ids, or as many as the namespace has.
    fn take_more(&mut self, scale: &mut Scale, count: u32) {
        let mut asked = scale.unanswered.unwrap_or(count.min(MOST_AT_ONCE));
        loop {
            match self.acquire_more(asked) {
                Ok(()) => return scale.succeeded(),
                // The store grants all or none, and does not say how many are free.
                Err(StoreError::Exhausted { .. }) if asked > 1 => asked /= 2,
                Err(error) => {
                    scale.failed(&error, asked);
                    return self.refused(error, scale.wanted);
                }
            }
        }
    }

    /// Reports why there are no more node ids. Renewals continue all the same.
    fn refused(&self, error: StoreError, wanted: u32) {
        // A refusal is no outage, as renewals go on: it makes `Health::Short`, and any other error
        // `Health::Degraded`.
        let is_refusal = matches!(
            error,
            StoreError::Exhausted { .. } | StoreError::Quarantined { .. } | StoreError::Invalid(_)
        );
        if is_refusal && self.shared.phase.lock().shortage.is_none() {
            events::short(self.client.namespace(), self.held(), wanted, &error);
        }
        let error = Some(Arc::new(error));
        self.shared.phase.change(|phase| {
            *(if is_refusal {
                &mut phase.shortage
            } else {
                &mut phase.last_error
            }) = error;
        });
    }

    fn acquire_more(&mut self, count: u32) -> Result<(), StoreError> {
        let acquired = self.acquire(NodeIds::Any(count))?;
        let shared = &*self.shared;
        let vacant: Vec<_> = (0..shared.slots.read().count())
            .filter(|slot| self.leases.iter().all(|lease| lease.slot != *slot))
            .collect();
        for (slot, (grant, issuer)) in vacant.into_iter().zip(acquired) {
            shared.slots.replace(slot, issuer);
            self.leases.push(SlotLease::new(slot, grant));
        }
        // What ran out before is answered by these.
        shared.demand.iter().for_each(Demand::clear);
        shared.phase.has_acquired();
        Ok(())
    }

    /// Stops issuing from some node ids, and releases them from their first unused tick on.
    fn give_back(&mut self, count: u32) {
        // Not the one in use: the rest of its tick would be lost.
        let in_use = self.shared.last_used();
        self.leases
            .sort_unstable_by_key(|lease| (lease.slot != in_use, lease.slot));
        // Sorted with the one in use first, so what is split off are the highest slots.
        let kept = self.held().saturating_sub(count);
        let surplus = self
            .leases
            .split_off(usize::try_from(kept).unwrap_or(usize::MAX));
        let slots = self.shared.slots.read();
        let retire = |lease: &SlotLease| {
            let issuer = slots.value(lease.slot)?;
            let grant = lease.retire(&self.shared, issuer);
            // After the lease was closed, so that a caller who still has the issuer is refused by
            // it.
            self.shared.slots.vacate(lease.slot);
            grant
        };
        let unused: Vec<_> = surplus.iter().filter_map(retire).collect();
        drop(slots);
        if let Err(error) = self.client.release(&unused) {
            // They end by themselves.
            self.shared
                .phase
                .change(|phase| phase.last_error = Some(Arc::new(error)));
        }
    }

    /// Does not replace lost node ids while enough others are left; the load may ask for more
    /// later.
    pub(super) fn drop_lost(&mut self) {
        let Some(scale) = &self.scale else {
            return;
        };
        let mut surplus = self.held().saturating_sub(scale.count.least);
        let slots = &self.shared.slots;
        self.leases.retain(|lease| {
            let is_dropped = !lease.is_held && surplus > 0;
            if is_dropped {
                surplus -= 1;
                slots.vacate(lease.slot);
            }
            !is_dropped
        });
    }
}
