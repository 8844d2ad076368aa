//! The operations on leases.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::Engine;
use super::LeaseStore;
use super::attempt::{Done, Undone};
use super::steps::presented;
use super::{Ledger, Pending};
use crate::rules::{
    Acquire, NodeRecord, Wanted, acquire, create, drop_namespace, end_quarantine,
    override_quarantine, quarantine, reopen,
};
use crate::vocabulary::{
    AcquireRequest, Acquired, Device, DeviceError, DeviceRequest, Explained, Finding, Grant,
    History, Namespace, NodeIds, PresentedGrant, PresentedRenewal, Quarantine, Record, Renewed,
    RequestId, StoreError, Upgrade,
};
use crate::vocabulary::{KeyCheck, Loss};

impl<E: Engine> LeaseStore for Ledger<E> {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn seal(&mut self, seal: KeyCheck) {
        self.namespace.set_seal(seal);
    }

    fn act_as_proxy(&mut self) {
        self.seen.act_as_proxy();
    }

    fn is_on_server(&self) -> bool {
        self.records.engine.has_own_clock()
    }

    fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.within = Some(node_ids.into_inner());
    }

    fn has_disconnected(&mut self) -> bool {
        self.records.engine.has_disconnected()
    }

    fn still_has(&mut self, grants: &[Grant]) -> Result<bool, StoreError> {
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            ..Wanted::default()
        };
        let view = self.records.read(&wanted)?;
        self.records.engine.abandon();
        let is_there = |grant: &Grant| {
            let record = view.record(grant.node_id);
            record.is_some_and(|record| record.is_of(grant))
        };
        Ok(grants.iter().all(is_there))
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        let AcquireRequest {
            token,
            holder,
            nodes,
            ttl,
        } = *request;
        self.records.engine.limit_for(self.namespace.span(ttl));
        let at_once = self.records.engine.at_once();
        if nodes.count() as usize > at_once {
            return Err(StoreError::Invalid(format!(
                "{} node ids asked for at once: this store grants at most {at_once}",
                nodes.count()
            )));
        }
        let pending = self.pending.take().filter(|pending| pending.token == token);
        let mut pending = pending.unwrap_or(Pending {
            token,
            nonces: Vec::new(),
            nodes: Vec::new(),
        });
        let asked = Acquire {
            token,
            holder,
            nodes,
            ttl,
            tried: &pending.nonces,
            within: self.within.unwrap_or((0, u32::MAX)),
        };
        let (chosen, free) = match nodes {
            // More than there are is for the rule to refuse.
            NodeIds::Any(count) => (
                &[][..],
                usize::try_from(u64::from(count).min(self.namespace.node_ids()))
                    .unwrap_or(usize::MAX),
            ),
            NodeIds::These(chosen) => (chosen, 0),
        };
        let read = [&pending.nodes, chosen].concat();
        let wanted = Wanted {
            nodes: &read,
            free,
            within: self.within,
            seen: None,
        };
        match self.run(&wanted, false, |view, asking| acquire(view, &asked, asking)) {
            Ok(Done { answer, now }) => {
                for record in &answer {
                    self.wrote(record);
                    self.records.prune(record);
                }
                Ok(Acquired {
                    grants: answer.iter().map(NodeRecord::grant).collect(),
                    last_writes: answer.iter().map(NodeRecord::last_write).collect(),
                    now,
                })
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried.map(|tried| *tried) {
                    pending.nonces.push(nonce);
                    pending
                        .nodes
                        .extend(change.nodes.iter().map(|node| node.after.node_id));
                }
                if !pending.nonces.is_empty() {
                    self.pending = Some(pending);
                }
                Err(error)
            }
        }
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.records.engine.limit_for(self.namespace.span(ttl));
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let renewed = self.renew_all(&leases, ttl, Self::wrote)?;
        let ends = renewed.answer.into_iter();
        Ok(Renewed {
            ends: ends
                .map(|outcome| outcome.map(|record| record.end))
                .collect(),
            now: renewed.now,
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let mut chunks = grants.chunks(self.records.engine.at_once());
        let mut release_chunk = |grants: &[Grant]| {
            let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
            for record in self.release_some(&leases)?.iter().flatten() {
                self.wrote(record);
            }
            Ok(())
        };
        release_chunk(chunks.next().unwrap_or_default())?;
        chunks.try_for_each(release_chunk)
    }

    fn renew_presented(
        &mut self,
        grants: &[PresentedGrant],
        ttl: u64,
        request: &RequestId,
    ) -> Result<PresentedRenewal, StoreError> {
        self.records.engine.limit_for(self.namespace.span(ttl));
        // All of them before anything is written.
        let leases = grants.iter().map(|grant| presented(grant, request));
        let leases = leases.collect::<Result<Vec<_>, _>>()?;
        let renewed = self.renew_all(&leases, ttl, |_, _| ())?;
        let outcomes = renewed.answer.into_iter();
        Ok(PresentedRenewal {
            outcomes: outcomes
                .map(|outcome| outcome.map(|record| record.presented()))
                .collect(),
            now: renewed.now,
        })
    }

    fn release_presented(
        &mut self,
        grants: &[PresentedGrant],
        request: &RequestId,
    ) -> Result<Vec<Result<(), Loss>>, StoreError> {
        let leases = grants.iter().map(|grant| presented(grant, request));
        let leases = leases.collect::<Result<Vec<_>, _>>()?;
        let mut outcomes = Vec::with_capacity(leases.len());
        for leases in leases.chunks(self.records.engine.at_once()) {
            let released = self.release_some(leases)?.into_iter();
            outcomes.extend(released.map(|outcome| outcome.map(drop)));
        }
        Ok(outcomes)
    }

    fn list_from(&mut self, first: u32, most: usize) -> Result<Vec<Record>, StoreError> {
        let records = self.records.list(first..=u32::MAX, most)?.into_iter();
        Ok(records.map(Record::from).collect())
    }

    fn history(&mut self, node_ids: RangeInclusive<u32>) -> Result<History, StoreError> {
        let standing = self.look()?;
        let mut history = standing.history();
        let read = self.read_history(&mut history, node_ids, standing.now);
        self.records.engine.abandon();
        read?;
        Ok(history)
    }

    fn device(
        &mut self,
        device_id: u64,
        request: &DeviceRequest<'_>,
    ) -> Result<Device, DeviceError> {
        self.device_record(device_id, request)
    }

    fn explain(&mut self, node_id: u32, tick: u64) -> Result<Explained, StoreError> {
        let standing = self.look()?;
        let leases = self.records.history_at(node_id, tick, standing.now);
        self.records.engine.abandon();
        Ok(standing.history().explained(&leases?, tick))
    }

    fn live_at(&mut self, unix: Duration) -> Result<Option<u64>, StoreError> {
        let standing = self.look()?;
        let tick = standing.record.terms.spec.tick_at(unix);
        let mut history = standing.history();
        let Some(tick) = tick.filter(|tick| !history.begins_after(*tick)) else {
            return Ok(None);
        };
        let read = self.read_history_at(&mut history, tick, standing.now);
        self.records.engine.abandon();
        read?;
        Ok(history.live_at(unix))
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        self.administer(quarantine)
    }

    fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.administer(create)
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        let has_leases = self.records.engine.list(0, 1);
        self.records.engine.abandon();
        // Whoever leases one after this look has ended the quarantine itself.
        let has_leases = !has_leases?.is_empty();
        self.administer(|view, asking| end_quarantine(view, asking, has_leases))
    }

    fn override_quarantine(&mut self) -> Result<(), StoreError> {
        self.administer(override_quarantine)
    }

    fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        Ok(self.look()?.quarantined())
    }

    fn drop_namespace(&mut self) -> Result<(), StoreError> {
        // A right that is missing is told before anything is written: this is no namespace's text.
        self.records.engine.clear("-")?;
        let ends = self
            .records
            .list(0..=u32::MAX, usize::MAX)?
            .into_iter()
            .map(|record| record.end);
        let latest_end = ends.max().unwrap_or(0);
        let done = self.run(&Wanted::default(), false, |view, asking| {
            drop_namespace(view, asking, latest_end)
        });
        let dropped = done.map_err(|undone| undone.error)?.answer;
        if let Some(record) = dropped {
            self.records.engine.clear(&record.to_text())?;
        }
        Ok(())
    }

    fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.administer(reopen)
    }

    fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        self.upgrade(force)
    }

    fn version(&mut self) -> Result<u8, StoreError> {
        Ok(self.look()?.record.versions.written)
    }

    fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        Some((&mut self.records.engine, &mut self.records.knows))
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        let view = self.records.read(&Wanted::default())?;
        self.records.engine.abandon();
        Ok(view.now)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.records.engine.diagnose()?;
        let standing = self.look()?;
        let left = standing.quarantine_left();
        findings.push(Finding::quarantine(standing.quarantined(), left));
        Ok(findings)
    }
}
