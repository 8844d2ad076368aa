//! Effect of each action on the store, the processes and the operator.

use randflake_lease::unstable::rules::{self, Caller, ClockWindow, Observed, VERSION, View};

use super::{Action, World};
use crate::holder::{Held, Holding};
use crate::operation::{Asked, Pending, Place};
use crate::records::{Change, Lease, LeaseVersion, Name, NameVersion, Records, terms, time};
use crate::rules::{Flaw, Loss, Rules};

impl World {
    pub(super) fn apply(&mut self, action: Action, rules: Rules) {
        match action {
            Action::Acquire {
                holder,
                offered,
                now,
            } => {
                let state = &mut self.processes[holder];
                if state.pending.is_none() {
                    self.acquires += 1;
                    let token = state.next_token.take().unwrap_or(self.acquires);
                    let (tried, nodes) = (0, 0);
                    state.pending = Some(Pending {
                        token,
                        tried,
                        nodes,
                    });
                }
                state.asked = Some(Asked::Acquire);
                self.ask(holder, offered, now, rules);
            }
            Action::Renew { holder, now } => {
                self.processes[holder].asked = Some(Asked::Renew);
                self.ask(holder, 0, now, rules);
            }
            Action::Release { holder, slot } => {
                let state = &mut self.processes[holder];
                if state.asked.is_none() {
                    let closed = state.holdings[slot].as_ref().map(Holding::closed);
                    state.asked = closed.map(Asked::Release);
                    if !rules.has(Flaw::IssueAfterRelease) {
                        state.holdings[slot] = None;
                    }
                }
                self.ask(holder, 0, 0, rules);
            }
            Action::Commit { holder, answered } => self.commit(holder, answered, rules),
            Action::CommitLate(holder) => {
                if let Some(change) = self.processes[holder].late.take() {
                    self.store.commit(&change);
                }
            }
            Action::GiveUp(holder) => self.processes[holder].give_up(),
            Action::Receive { holder, now } => {
                self.processes[holder].receive(now, rules.terms[holder]);
            }
            Action::Take { holder, slot, now } => self.take(holder, slot, now),
            Action::Crash(holder) if rules.has(Flaw::RestartOnOldInterval) => {
                self.processes[holder].crash_and_go_on();
            }
            Action::Crash(holder) => self.processes[holder].crash(),
            Action::Copy(holder) => self.copy(holder, rules),
            Action::Reopen { now } => self.reopen(now, rules),
            Action::Drop { now } => self.drop_namespace(now, rules),
            Action::Declare { now } => self.declare_new(now, rules),
            Action::List => self.list(rules),
            Action::Operate => self.operate(rules),
            Action::Lose(loss) => self.lose(loss),
            Action::Replicate => self.store.replica = self.store.records,
            Action::PassTime => {
                self.time += 1;
                if self.store.made > 0 && !rules.has(Flaw::NeverLooks) {
                    self.look();
                }
            }
        }
    }

    fn ask(&mut self, holder: usize, offered: u8, now: u8, rules: Rules) {
        let place = Place {
            holder,
            now,
            time: self.time,
            fresh: self.fresh(),
            offered,
            rules,
        };
        if self.processes[holder].ask(&self.store, &place) && !rules.begin.has_past() {
            self.unnoticed = false;
        }
    }

    fn commit(&mut self, holder: usize, answered: Option<u8>, rules: Rules) {
        let Some(flight) = &mut self.processes[holder].flight else {
            return;
        };
        let quarantine = self.store.records.name.map_or(0, |name| name.quarantine);
        if !self.store.commit(&flight.change) {
            // Others were faster: it reads again.
            let state = &mut self.processes[holder];
            state.flight = None;
            state.asked = state
                .asked
                .filter(|asked| matches!(asked, Asked::Release(_)));
            return;
        }
        flight.done = true;
        let noticed = if rules.begin.has_past() {
            // A holder whose namespace is another one now speaks for its own lease alone.
            flight.acquires()
                && flight
                    .change
                    .name_after
                    .is_some_and(|name| name.quarantine > quarantine)
        } else {
            flight.tells_of_a_loss()
        };
        self.unnoticed &= !noticed;
        if let Some(now) = answered {
            self.processes[holder].receive(now, rules.terms[holder]);
        }
    }

    /// Numbers that nobody has: which ones they are does not matter.
    pub(super) fn fresh(&self) -> (u64, u64) {
        let (mut origins, mut nonces) = (0_u32, 0_u32);
        let mut lease = |version: LeaseVersion| nonces |= 1 << version.3;
        let mut name = |version: NameVersion| origins |= 1 << version.0;
        for Records {
            name: record,
            leases,
        } in [&self.store.records, &self.store.replica]
        {
            record.map(Name::version).into_iter().for_each(&mut name);
            leases
                .iter()
                .flatten()
                .for_each(|record| lease(record.version()));
        }
        if let Operation::Sent(Change { name_after, .. }) = self.operation {
            name_after
                .map(Name::version)
                .into_iter()
                .for_each(&mut name);
        }
        let mut tried = 0;
        for process in &self.processes {
            process.seen.into_iter().for_each(|seen| name(seen.version));
            let flight = process.flight.as_ref();
            let sent = flight.map(|flight| &flight.change);
            let changes = sent.into_iter().chain(&process.late);
            for Change {
                name_before,
                name_after,
                leases: nodes,
                ..
            } in changes
            {
                let names = [*name_before, *name_after].into_iter().flatten();
                names.map(Name::version).for_each(&mut name);
                let nodes = nodes.iter().flatten();
                let leases = nodes.flat_map(|node| [node.before, Some(Lease::version(node.after))]);
                leases.flatten().for_each(&mut lease);
            }
            tried |= flight.map_or(0, |flight| 1 << flight.nonce);
            tried |= process.pending.map_or(0, |pending| pending.tried);
            let released = match process.asked {
                Some(Asked::Release(held)) => Some(held),
                _ => None,
            };
            for held in process.held().chain(released) {
                tried |= held.tried | held.written.map_or(0, |(_, nonce)| 1 << nonce);
            }
        }
        let nonces = nonces | tried;
        (
            origins.trailing_ones().into(),
            nonces.trailing_ones().into(),
        )
    }

    /// The other process goes on with the same memory, and draws the same random numbers. The
    /// network answers the one that had asked.
    fn copy(&mut self, holder: usize, rules: Rules) {
        let state = &mut self.processes[holder];
        self.copied = if let Some(Asked::Release(held)) = state.asked {
            Some(held.grant.token)
        } else {
            let pending = state.pending.map(|pending| pending.token);
            pending.or_else(|| state.held().next().map(|held| held.grant.token))
        };
        state.next_token = Some(rules.acquires + 1);
        for holding in state.holdings.iter_mut().flatten() {
            holding.copied = true;
        }
        let mut copy = *state;
        if let Some(flight) = &mut state.flight {
            flight.copied = true;
        }
        copy.give_up();
        copy.late = None;
        self.processes[1 - holder] = copy;
    }

    fn lose(&mut self, loss: Loss) {
        let records = match loss {
            Loss::Flush | Loss::Replace => Records::default(),
            Loss::Promote | Loss::Restore => self.store.replica,
        };
        // The store may have forgotten which of two copies was the first.
        self.is_shared |= self.is_since_copied;
        for process in &mut self.processes {
            for holding in process.holdings.iter_mut().flatten() {
                holding.copied |= Some(holding.held.grant.token) == self.copied;
            }
        }
        self.unnoticed = loss == Loss::Restore;
        self.store
            .lose(records, matches!(loss, Loss::Flush | Loss::Promote));
        if loss == Loss::Replace {
            self.store.made = self.time;
        }
    }

    /// A process that holds a lease of a store that is not there any more, or has asked it, stops.
    fn look(&mut self) {
        for process in &mut self.processes {
            let sent = process.flight.as_ref();
            let has_asked = sent.is_some_and(|sent| sent.change.losses != self.store.losses);
            if has_asked
                || process.held().any(|held: Held| {
                    let grant = held.grant;
                    !self.store.has(grant.node_id, grant.token)
                })
            {
                process.crash();
            }
        }
    }

    fn take(&mut self, holder: usize, slot: usize, now: u8) {
        let Some(holding) = &mut self.processes[holder].holdings[slot] else {
            return;
        };
        let Some(id) = holding.take(now) else {
            return;
        };
        self.is_shared |= holding.copied;
        self.is_since_copied |= Some(holding.held.grant.token) == self.copied;
        self.issued = Some(id);
    }
}

/// What the operator is about, with what is known by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    #[default]
    Nothing,
    /// The write of a drop or of a declaration.
    Sent(Change),
    /// The leases of a dropped namespace were read: the latest end.
    Listed(u8),
    /// The mark waits for them, so they may be removed if it still is there.
    Outlasted(NameVersion),
}

impl World {
    pub(super) fn actions_of_the_operator(&self, rules: Rules, actions: &mut Vec<Action>) {
        let is_dropped = self.is_dropped();
        if is_dropped {
            actions.extend(self.readings(rules).map(|now| Action::Reopen { now }));
        }
        match self.operation {
            Operation::Nothing if rules.operator => {
                if is_dropped {
                    actions.push(Action::List);
                } else if self.store.records.name.is_some() {
                    actions.extend(self.readings(rules).map(|now| Action::Drop { now }));
                    // Only of a namespace in which nothing was ever leased is it true.
                    let is_new =
                        self.store.has_granted_nothing() || rules.has(Flaw::DeclaredAfterGrants);
                    let declare = self.readings(rules).map(|now| Action::Declare { now });
                    actions.extend(declare.filter(|_| is_new));
                }
            }
            Operation::Nothing => {}
            _ => actions.push(Action::Operate),
        }
    }

    fn is_dropped(&self) -> bool {
        let name = self.store.records.name;
        name.is_some_and(|name| name.mark().is_some())
    }

    pub(super) fn reopen(&mut self, now: u8, rules: Rules) {
        let opened = self.decide(now, rules, |view, caller| {
            rules::reopen(view, caller).change
        });
        self.store.records.name = opened.name_after.or(self.store.records.name);
    }

    pub(super) fn drop_namespace(&mut self, now: u8, rules: Rules) {
        self.operation = Operation::Sent(self.decide(now, rules, |view, caller| {
            rules::drop_namespace(view, caller).change
        }));
    }

    pub(super) fn declare_new(&mut self, now: u8, rules: Rules) {
        let change = self.decide(now, rules, |view, caller| {
            rules::end_quarantine(view, caller, false).change
        });
        if change.name_after.is_some() {
            self.operation = Operation::Sent(change);
        }
    }

    pub(super) fn list(&mut self, rules: Rules) {
        let ends = self.store.records.leases.iter().flatten();
        let latest_end = ends.map(|lease| lease.end).max().unwrap_or(0);
        let is_flawed = rules.has(Flaw::DropWithoutLook);
        self.operation = Operation::Listed(if is_flawed { 0 } else { latest_end });
    }

    /// The next step of what is under way.
    pub(super) fn operate(&mut self, rules: Rules) {
        self.operation = match self.operation {
            Operation::Nothing => Operation::Nothing,
            Operation::Sent(change) => {
                self.store.commit(&change);
                Operation::Nothing
            }
            Operation::Listed(latest_end) => self.outlast(latest_end, rules),
            Operation::Outlasted(mark) => {
                let there = self.store.records.name.map(Name::version);
                if there == Some(mark) || rules.has(Flaw::RemovedWithoutMark) {
                    self.store.records.leases = [None; 2];
                }
                Operation::Nothing
            }
        };
    }

    fn outlast(&mut self, latest_end: u8, rules: Rules) -> Operation {
        let change = self.decide(0, rules, |view, _| {
            rules::outlast(view, latest_end.into()).change
        });
        self.store.commit(&change);
        match self.store.records.name {
            Some(mark) if self.is_dropped() => Operation::Outlasted(mark.version()),
            _ => Operation::Nothing,
        }
    }

    fn decide(
        &self,
        now: u8,
        rules: Rules,
        rule: impl FnOnce(&View, &Caller<'_>) -> rules::Change,
    ) -> Change {
        let view = self.store.view(now, &[], 0, rules.has_any_clocks());
        let here = time(if rules.has_any_clocks() {
            now
        } else {
            self.time
        });
        let caller = Caller {
            terms: &terms(rules.terms[0]),
            seen: &Observed::default(),
            clock: Some(ClockWindow::of_machine(here, here)),
            fresh: self.fresh(),
            capabilities: VERSION,
        };
        let change = rule(&view, &caller);
        Change {
            losses: self.store.losses,
            name_before: self.store.records.name,
            name_after: change
                .namespace_after
                .as_ref()
                .map(|record| Name::of(record, rules.begin.has_past())),
            leases: [None; 2],
        }
    }
}
