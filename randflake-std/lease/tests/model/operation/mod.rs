//! An operation of a process: the store is read, the shipped rules decide, a write is sent, and its
//! answer is taken.

mod answer;

use core::time::Duration;

use randflake_lease::unstable::rules::{
    self, Acquire, Caller, ClockWindow, CurrentLease, Decision, Form, HistoryLink, Loss,
    NamespaceRecord, NodeChange, NodeRecord, Observed, QuarantineReason, VERSION, Versions, View,
};
use randflake_lease::{AcquireRequest, Grant, NodeIds, QuarantineCause, StoreError};

use crate::TICK_MS;
use crate::holder::{Held, ObservedName, Process};
use crate::lies;
use crate::records::{Change, Lease, LeaseChange, Name, Store, small, terms, time, token, ttl_of};
use crate::rules::{Flaw, Rules};

/// What a process has asked for, until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    /// What is pending.
    Acquire,
    /// All that is held.
    Renew,
    /// Of a grant cut to what was used.
    Release(Held),
}

/// An acquire that is repeated until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    pub(crate) token: u8,
    /// The nonces of earlier tries, and their records' places, as bits.
    pub(crate) tried: u32,
    pub(crate) nodes: u8,
}

/// A write on its way to the store, or its answer on the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flight {
    pub(crate) change: Change,
    pub(crate) nonce: u8,
    answer: Answer,
    /// The store's clock when it was read; 0 in worlds where no rule looks at it.
    read_at: u8,
    /// The store's clock minus the time, when it was read.
    offset: Option<i8>,
    /// A copy knows of it.
    pub(crate) copied: bool,
    pub(crate) done: bool,
}

/// What the rules say, and what is told once it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// With their node ids.
    Granted([Option<(u8, Lease)>; 2]),
    /// Of each that is held.
    Renewed([Option<Result<Lease, Loss>>; 2]),
    Released(Option<(u8, Lease)>),
    /// Nothing is granted for now.
    Refused,
}

impl Flight {
    pub(crate) fn renews(&self) -> bool {
        matches!(self.answer, Answer::Renewed(outcomes) if outcomes.iter().any(|outcome: &Option<Result<Lease, Loss>>| matches!(outcome, Some(Ok(_)))))
    }

    pub(crate) fn acquires(&self) -> bool {
        matches!(self.answer, Answer::Granted(_) | Answer::Refused)
    }

    /// Whether the store knows now that it has forgotten a lease.
    pub(crate) fn tells_of_a_loss(&self) -> bool {
        let forgotten = Some(Err(Loss::Forgotten));
        matches!(self.answer, Answer::Renewed(outcomes) if outcomes.contains(&forgotten))
    }
}

/// Who operates, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) holder: usize,
    /// Clock of the store.
    pub(crate) now: u8,
    /// The machines' clocks, where they agree.
    pub(crate) time: u8,
    /// Two numbers that nobody else has.
    pub(crate) fresh: (u64, u64),
    /// The candidate that the engine offers, or the node id chosen.
    pub(crate) offered: u8,
    pub(crate) rules: Rules,
}

impl Place {
    fn terms(&self) -> u8 {
        self.rules.terms[self.holder]
    }

    /// By how many places the records are apart from those of others; none, but for the flaw.
    fn apart(&self) -> u8 {
        u8::from(self.holder == 1 && self.rules.has(Flaw::ChosenFromOtherRecords))
    }

    /// What the store's clock differs by, where that matters.
    fn offset(&self) -> Option<i8> {
        let offset = self.now.cast_signed() - self.time.cast_signed();
        (!self.rules.has_any_clocks()).then_some(offset)
    }
}

impl Process {
    /// Reads the store, lets the rules decide, and sends what is to be written; says whether the
    /// store has told of a lease that it has forgotten.
    pub(crate) fn ask(&mut self, store: &Store, place: &Place) -> bool {
        let Some(asked) = self.asked else {
            return false;
        };
        let apart = place.apart();
        let node_ids = self.wanted(asked, place);
        let keeps_end = place.rules.has_any_clocks();
        let mut view = store.view(place.now, &node_ids, apart, keeps_end);
        let seen = self.observed(place.rules);
        let (mine, is_renewal) = (terms(place.terms()), asked != Asked::Acquire);
        let caller = Caller {
            terms: &mine,
            seen: &seen,
            clock: Some(self.expected(place, is_renewal)),
            fresh: place.fresh,
            capabilities: VERSION,
        };
        lies::before(&mut view, asked, self, &mine, place.rules);
        let (mut change, answer) = self.decide(asked, &view, &caller, place);
        lies::after(&mut change, &view, &answer, &mine, place.rules);
        let is_skewed = matches!(answer, Err(StoreError::ClockSkew { .. }));
        let answer = lies::told(answer.unwrap_or(Answer::Refused), place.rules);
        let flight = Flight {
            change: compact(&change, store, apart, place.rules.begin.has_past()),
            read_at: if place.rules.begin.has_past() {
                place.now
            } else {
                0
            },
            nonce: small(place.fresh.1),
            answer,
            offset: place.offset(),
            copied: false,
            done: false,
        };
        if !change.is_empty() {
            self.flight = Some(flight);
            return false;
        }
        let name = change
            .namespace_before
            .as_ref()
            .filter(|_| !is_skewed)
            .map(|record| Name::of(record, place.rules.begin.has_past()));
        // A plain refusal teaches nothing, unless the clock has leapt.
        let has_leapt = is_skewed || self.offset != flight.offset;
        if name.is_some() || has_leapt || answer != Answer::Refused {
            self.answered(name, &flight);
        }
        self.take(answer, place.now, place.terms());
        flight.tells_of_a_loss()
    }

    fn wanted(&self, asked: Asked, place: &Place) -> Vec<u8> {
        match asked {
            Asked::Acquire => {
                let nodes = self.pending.map_or(0, |pending| pending.nodes);
                let tried = (0..2).filter(|node_id| nodes & 1 << (node_id + place.apart()) != 0);
                let others = (0..place.rules.at_once).map(|more| (place.offered + more) % 2);
                tried.chain(others).collect()
            }
            Asked::Renew => {
                let held = self.held();
                held.map(|held| held.grant.node_id).collect()
            }
            Asked::Release(held) => vec![held.grant.node_id],
        }
    }

    fn observed(&self, rules: Rules) -> Observed {
        let mut seen = Observed::default();
        if let Some(ObservedName { version, at, mark }) = self.seen {
            let (namespace_nonce, writes) = version;
            let (since, until) = mark.unwrap_or_default();
            let is_flawed = rules.has(Flaw::OlderFollows);
            // Only these are looked at.
            let record = NamespaceRecord {
                versions: Versions::FIRST,
                terms: terms(0),
                namespace_nonce: namespace_nonce.into(),
                writes: writes.into(),
                quarantine: until.into(),
                reason: QuarantineReason {
                    since: if is_flawed { 0 } else { since.into() },
                    cause: QuarantineCause::Dropped,
                    is_dropped: mark.is_some(),
                },
                fingerprint: String::new(),
                identity: String::new(),
                form: Form::default(),
            };
            let at = match at {
                _ if is_flawed => Duration::ZERO,
                _ if rules.begin.has_past() => time(at),
                // Any other record is older than that, so it contradicts.
                _ => Duration::MAX,
            };
            seen.note_namespace(record, at);
        }
        for (node_id, end) in (0..).zip(self.seen_ends).filter(|(_, end)| *end > 0) {
            seen.note(&NodeRecord {
                node_id,
                start: 0,
                end: end.into(),
                fencing_token: 0,
                serial: 0,
                token: token(0),
                nonce: 0,
                held: false,
                contested: false,
                past: HistoryLink::default(),
                holder: String::new(),
                capabilities: VERSION,
                form: Form::default(),
            });
        }
        seen
    }

    /// What the client expects of the store's clock. Where machines' clocks show anything, this
    /// one's shows what lets the operation through: refused ones change nothing.
    fn expected(&self, place: &Place, is_renewal: bool) -> ClockWindow {
        if place.rules.has_any_clocks() {
            return ClockWindow::of_machine(time(place.now), time(place.now));
        }
        match self.offset.filter(|_| is_renewal) {
            Some(offset) => {
                let carried = time(place.time.saturating_add_signed(offset));
                ClockWindow::of_store(carried, carried)
            }
            None => ClockWindow::of_machine(time(place.time), time(place.time)),
        }
    }

    fn decide(
        &self,
        asked: Asked,
        view: &View,
        caller: &Caller<'_>,
        place: &Place,
    ) -> (rules::Change, Result<Answer, StoreError>) {
        let ttl = ttl_of(place.terms());
        match asked {
            Asked::Acquire => {
                let Pending {
                    token: number,
                    tried,
                    ..
                } = self.pending.unwrap();
                let chosen = [place.offered.into()];
                let request = Acquire {
                    request: AcquireRequest {
                        token: token(number),
                        holder: "",
                        nodes: match place.holder {
                            0 => NodeIds::Any(place.rules.at_once.into()),
                            _ => NodeIds::These(&chosen),
                        },
                        ttl: ttl.into(),
                    },
                    tried: &lies::tried(numbers(tried), view, place.rules),
                    within: (0, u32::MAX),
                };
                let Decision { change, answer } = rules::acquire(view, &request, caller);
                (
                    change,
                    answer.map(|records: Vec<NodeRecord>| {
                        Answer::Granted([0, 1].map(|at| {
                            records.get(at).map(|record: &NodeRecord| {
                                (small(record.node_id.into()), Lease::of(record))
                            })
                        }))
                    }),
                )
            }
            Asked::Renew => {
                let held: Vec<_> = self.held().map(|held| known(held, place.rules)).collect();
                let Decision { change, answer } = rules::renew(view, &held, ttl.into(), caller);
                (
                    change,
                    answer.map(|ends: Vec<Result<NodeRecord, Loss>>| {
                        let mut ends = ends.into_iter();
                        Answer::Renewed(self.holdings.map(|holding: Option<_>| {
                            holding
                                .and_then(|_| ends.next())
                                .map(|outcome: Result<_, _>| {
                                    outcome.map(|record| Lease::of(&record))
                                })
                        }))
                    }),
                )
            }
            Asked::Release(held) => {
                let held = [known(held, place.rules)];
                let Decision { change, answer } = rules::release(view, &held, caller);
                (
                    change,
                    answer.map(|outcomes: Vec<Result<NodeRecord, Loss>>| {
                        let first = outcomes.iter().flatten().next();
                        Answer::Released(
                            first.map(|record| (small(record.node_id.into()), Lease::of(record))),
                        )
                    }),
                )
            }
        }
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = Held> {
        self.holdings.iter().flatten().map(|holding| holding.held)
    }
}

/// As the rules are told of it.
fn known(held: Held, rules: Rules) -> CurrentLease {
    let grant = held.grant;
    CurrentLease {
        grant: Grant {
            node_id: grant.node_id.into(),
            start: grant.start.into(),
            end: grant.end.into(),
            fencing_token: grant.fencing_token.into(),
            token: token(grant.token),
        },
        written: held
            .written
            .filter(|_| !rules.has(Flaw::CopiesNotTold))
            .map(|(serial, nonce)| (serial.into(), nonce.into())),
        tried: numbers(held.tried),
        next: None,
    }
}

fn numbers(bits: u32) -> Vec<u64> {
    (0..32).filter(|bit| bits & 1 << bit != 0).collect()
}

/// What is compared is what was read, whatever a lie made of it.
fn compact(change: &rules::Change, store: &Store, apart: u8, has_past: bool) -> Change {
    assert!(change.nodes.len() <= 2);
    let of = |node: &NodeChange| {
        let place = small(node.after.node_id.into()) + apart;
        LeaseChange {
            place,
            before: store.records.leases[usize::from(place)].map(Lease::version),
            after: Lease::of(&node.after),
        }
    };
    Change {
        losses: store.losses,
        name_before: store.records.name,
        name_after: change
            .namespace_after
            .as_ref()
            .map(|record| Name::of(record, has_past)),
        leases: [0, 1].map(|at| change.nodes.get(at).map(of)),
    }
}

const _: () = assert!(TICK_MS == 10_000, "as long as the skew that is allowed");
