//! An operator, who knows nothing from before: drops the namespace, opens it again, or declares it
//! new. What was decided may be long on its way.

use randflake_lease::unstable::rules::{self, Caller, ClockWindow, Observed, VERSION, View};

use super::{Action, World};
use crate::records::{Change, Name, NameVersion, terms, time};
use crate::rules::{Flaw, Rules};

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
            let reopen = |now| Action::Reopen { now };
            actions.extend(self.readings(rules).map(reopen));
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
            knows: VERSION,
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
