//! A holder's dealings with one namespace: reads, asks the rules, and writes what they say.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;

use super::{
    Acquire, Asking, Backend, Change, Committed, Decision, Held, NodeRecord, Seen, Standing, View,
    Wanted, acquire, release, renew,
};
use crate::clock::Monotonic;
use crate::lease::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
    Token,
};

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

/// The leases of one namespace in an engine.
///
/// It is what every store is: an engine says how records are read and written, this says what becomes of them.
pub struct Ledger<B> {
    backend: B,
    namespace: Namespace,
    /// This machine's clock, which the store's is compared with; none in simulations.
    machine: Option<Arc<dyn Clock + Send + Sync>>,
    seen: Seen,
    /// The acquire of unknown outcome.
    pending: Option<Pending>,
    /// What this process wrote last, by node id.
    written: BTreeMap<u32, Written>,
}

#[derive(Debug)]
struct Pending {
    token: Token,
    nonces: Vec<u64>,
    nodes: Vec<u32>,
}

#[derive(Debug)]
struct Written {
    token: Token,
    serial: u64,
    /// Nonces of later writes of unknown outcome.
    tried: Vec<u64>,
}

impl<B: Backend> Ledger<B> {
    /// The leases of a namespace, which the first acquire creates. `machine` is this machine's clock, which the store's
    /// is compared with; none in simulations.
    pub fn new(
        backend: B,
        namespace: Namespace,
        machine: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Self {
        Self {
            backend,
            namespace,
            machine,
            seen: Seen::default(),
            pending: None,
            written: BTreeMap::new(),
        }
    }

    /// Refuses early what an acquire would refuse.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the engine has the namespace with other terms; and those of the engine.
    pub fn check(&mut self) -> Result<(), StoreError> {
        self.look().map(|_| ())
    }

    /// The namespace as it stands; nothing is written.
    fn look(&mut self) -> Result<Standing, StoreError> {
        let (view, here) = self.read(&Wanted::default())?;
        self.backend.abandon();
        Standing::of(&view, &self.asking(here, (0, 0)))
    }

    fn read(
        &mut self,
        wanted: &Wanted<'_>,
    ) -> Result<(View, Option<(Duration, Duration)>), StoreError> {
        let before = self.machine_now();
        let view = self.backend.read(wanted)?;
        let here = before.zip(self.machine_now());
        Ok((view, here))
    }

    fn machine_now(&self) -> Option<Duration> {
        self.machine
            .as_ref()
            .map(|clock| clock.now().unwrap_or_default())
    }

    fn asking(&self, here: Option<(Duration, Duration)>, fresh: (u64, u64)) -> Asking<'_> {
        Asking {
            terms: self.namespace.terms(),
            seen: &self.seen,
            here,
            fresh,
        }
    }

    /// Reads, decides and writes, until nobody else was faster.
    fn run<T>(
        &mut self,
        wanted: &Wanted<'_>,
        rule: impl Fn(&View, &Asking<'_>) -> Decision<T>,
    ) -> Result<Done<T>, Undone> {
        for _ in 0..TRIES {
            let fresh = fresh().map_err(StoreError::unavailable)?;
            let (view, here) = self.read(wanted)?;
            let Decision { change, answer } = rule(&view, &self.asking(here, fresh));
            let now = if change.is_empty() {
                self.backend.abandon();
                view.now
            } else {
                match self.backend.commit(&change) {
                    Ok(Committed::Done { now }) => now,
                    Ok(Committed::Stale) => continue,
                    Err(error) => {
                        return Err(Undone {
                            error,
                            tried: Some((fresh.1, change)),
                        });
                    }
                }
            };
            let namespace = change
                .namespace_after
                .as_ref()
                .or(change.namespace_before.as_ref());
            if let Some(record) = namespace {
                self.seen.note_namespace(record);
            }
            return Ok(Done {
                answer: answer?,
                now,
            });
        }
        Err(StoreError::unavailable("other clients of the store were faster each time").into())
    }

    /// What this process knows of a grant.
    fn held(&self, grant: &Grant) -> Held {
        let written = self.written.get(&grant.node_id);
        let written = written.filter(|written| written.token == grant.token);
        Held {
            grant: *grant,
            serial: written.map(|written| written.serial),
            tried: written.map_or_else(Vec::new, |written| written.tried.clone()),
        }
    }

    /// Notes a write that was answered.
    fn wrote(&mut self, record: &NodeRecord) {
        self.seen.note(record);
        let written = Written {
            token: record.token,
            serial: record.serial,
            tried: Vec::new(),
        };
        self.written.insert(record.node_id, written);
    }

    /// Notes a write that may have happened.
    fn may_have_written(&mut self, nonce: u64, change: &Change) {
        for after in change.nodes.iter().map(|node| &node.after) {
            if let Some(written) = self.written.get_mut(&after.node_id) {
                written.tried.push(nonce);
            }
        }
    }
}

struct Done<T> {
    answer: T,
    now: Duration,
}

/// An operation that failed, with what may have been written.
struct Undone {
    error: StoreError,
    tried: Option<(u64, Change)>,
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Self { error, tried: None }
    }
}

/// Two numbers that nobody else has. A copy of this process, or of its machine, shares the state of all random
/// sources; it does not share the time at which it goes on.
fn fresh() -> Result<(u64, u64), getrandom::Error> {
    let wall = crate::clock::wall_exact().unwrap_or_default().as_nanos();
    let time = u64::try_from(wall & u128::from(u64::MAX)).unwrap_or_default();
    let mixed = time
        .wrapping_add(Monotonic::exact().nanos())
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Ok((
        getrandom::u64()? ^ mixed,
        getrandom::u64()? ^ mixed.rotate_left(32),
    ))
}

impl<B: Backend> Debug for Ledger<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("backend", &self.backend)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> LeaseStore for Ledger<B> {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        let AcquireRequest {
            token,
            holder,
            count,
            ttl,
        } = *request;
        self.backend.limit_for(self.namespace.span(ttl));
        let (nonces, nodes) = match &self.pending {
            Some(pending) if pending.token == token => {
                (pending.nonces.clone(), pending.nodes.clone())
            }
            _ => (Vec::new(), Vec::new()),
        };
        let asked = Acquire {
            token,
            holder,
            count,
            chosen: &[],
            ttl,
            tried: &nonces,
        };
        let wanted = Wanted {
            nodes: &nodes,
            free: count as usize,
        };
        match self.run(&wanted, |view, asking| acquire(view, &asked, asking)) {
            Ok(Done { answer, now }) => {
                self.pending = None;
                for record in &answer {
                    self.wrote(record);
                }
                let grants = answer.iter().map(NodeRecord::grant).collect();
                Ok(Acquired { grants, now })
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried {
                    let nodes = nodes
                        .into_iter()
                        .chain(change.nodes.iter().map(|node| node.after.node_id));
                    let nodes = nodes.collect();
                    let nonces = nonces.into_iter().chain([nonce]).collect();
                    self.pending = Some(Pending {
                        token,
                        nonces,
                        nodes,
                    });
                }
                Err(error)
            }
        }
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.backend.limit_for(self.namespace.span(ttl));
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            free: 0,
        };
        match self.run(&wanted, |view, asking| renew(view, &leases, ttl, asking)) {
            Ok(Done { answer, now }) => {
                for record in answer.iter().flatten() {
                    self.wrote(record);
                }
                let ends = answer
                    .into_iter()
                    .map(|outcome| outcome.ok().map(|record| record.end));
                Ok(Renewed {
                    ends: ends.collect(),
                    now,
                })
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried {
                    self.may_have_written(nonce, &change);
                }
                Err(error)
            }
        }
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            free: 0,
        };
        match self.run(&wanted, |view, asking| release(view, &leases, asking)) {
            Ok(Done { answer, .. }) => {
                for record in &answer {
                    self.wrote(record);
                }
                Ok(())
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried {
                    self.may_have_written(nonce, &change);
                }
                Err(error)
            }
        }
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let records = self.backend.list()?.into_iter();
        let records = records.map(|record| Record {
            grant: record.grant(),
            holder: record.holder,
        });
        Ok(records.collect())
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        let rule = |view: &View, asking: &Asking<'_>| match Standing::of(view, asking) {
            Ok(mut standing) => {
                standing.quarantine(view, asking.seen);
                let answer = Ok(standing.quarantine_left());
                let change = standing.into_change();
                Decision { change, answer }
            }
            Err(refusal) => Decision::refused(refusal),
        };
        let done = self.run(&Wanted::default(), rule);
        done.map(|done| done.answer).map_err(|undone| undone.error)
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        let view = self.backend.read(&Wanted::default())?;
        self.backend.abandon();
        Ok(view.now)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.backend.diagnose()?;
        findings.push(Finding::fence(self.look()?.quarantine_left()));
        Ok(findings)
    }
}
