//! Everything that may happen to two processes and their node ids, in any order.

mod events;

use stateright::{Model, Property};

use crate::holder::{ObservedName, Process};
use crate::operation::Asked;
use crate::records::Store;
use crate::rules::{Clocks, Loss, Rules};
use crate::{HOLDERS, MAX_LOSSES};
use events::Operation;

pub(crate) const NO_ID_REPEATS: &str = "no id repeats";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct World {
    store: Store,
    processes: [Process; HOLDERS],
    operation: Operation,
    /// How many acquires were begun: each has a token of its own.
    acquires: u8,
    /// The raw id that this history is about, once it was issued.
    issued: Option<u8>,
    /// Two processes had its lease unknowingly; and it was issued since that was copied.
    is_shared: bool,
    is_since_copied: bool,
    /// The token of the lease that was copied, which happens once.
    copied: Option<u8>,
    /// The store has forgotten leases, and nobody knows.
    unnoticed: bool,
    /// What the machines' clocks show, where they agree.
    time: u8,
}

/// Clocks have no state, but for the machines' where they agree: a process that reads one gets any
/// tick. To pause is to do nothing meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Reads the store and sends what the rules say, for the first time or again.
    Acquire {
        holder: usize,
        offered: u8,
        now: u8,
    },
    Renew {
        holder: usize,
        now: u8,
    },
    /// No clock plays a part.
    Release {
        holder: usize,
        slot: usize,
    },
    /// The store gets what was sent. Its answer arrives at once, when the holder's clock shows
    /// this; or later.
    Commit {
        holder: usize,
        answered: Option<u8>,
    },
    /// The store gets what nobody waits for any more.
    CommitLate(usize),
    /// No answer arrives in time.
    GiveUp(usize),
    Receive {
        holder: usize,
        now: u8,
    },
    Take {
        holder: usize,
        slot: usize,
        now: u8,
    },
    Crash(usize),
    /// The other process becomes a copy of this one.
    Copy(usize),
    /// An operator opens a dropped namespace again.
    Reopen {
        now: u8,
    },
    /// An operator drops the namespace, or declares it new: what is to be written is sent.
    Drop {
        now: u8,
    },
    Declare {
        now: u8,
    },
    /// The leases of a dropped namespace are read.
    List,
    /// What was sent arrives, the mark waits for the leases, or these are removed.
    Operate,
    Lose(Loss),
    Replicate,
    PassTime,
}

impl Model for Rules {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let store = Store::at_begin(self.begin, self.terms[0]);
        let mark = store.records.name.filter(|name| name.mark().is_some());
        let seen = mark.map(|mark| ObservedName {
            version: mark.version(),
            at: self.begin.time(),
            mark: mark.mark(),
        });
        let process = Process {
            seen,
            ..Process::default()
        };
        let time = if self.has_any_clocks() {
            0
        } else {
            self.begin.time()
        };
        vec![World {
            store,
            time,
            processes: [process; HOLDERS],
            ..World::default()
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for holder in 0..HOLDERS {
            world.actions_of(holder, *self, actions);
        }
        world.actions_of_the_operator(*self, actions);
        if world.store.losses < MAX_LOSSES {
            actions.extend(self.losses.iter().map(|loss| Action::Lose(*loss)));
            if self
                .losses
                .iter()
                .any(|loss: &Loss| matches!(loss, Loss::Promote | Loss::Restore))
            {
                actions.push(Action::Replicate);
            }
        }
        if let Clocks::MachinesAgree(last) | Clocks::OneMachine(last) = self.clocks
            && world.time < last
        {
            actions.push(Action::PassTime);
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = *before;
        world.apply(action, *self);
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(NO_ID_REPEATS, |rules, world: &World| {
            !world.repeats_an_id(*rules)
        })]
    }
}

impl World {
    fn actions_of(&self, holder: usize, rules: Rules, actions: &mut Vec<Action>) {
        let state = &self.processes[holder];
        if state.late.is_some() {
            actions.push(Action::CommitLate(holder));
        }
        match state.flight {
            Some(flight) => {
                // Only a renewal looks at the holder's clock, and only if it is past an end.
                let ends = state.held().map(|held| held.grant.end);
                let mut readings: Vec<u8> = [0].into_iter().chain(ends).collect();
                readings.dedup();
                readings.truncate(if flight.renews() { 3 } else { 1 });
                for now in readings {
                    actions.push(if flight.done {
                        Action::Receive { holder, now }
                    } else {
                        Action::Commit {
                            holder,
                            answered: Some(now),
                        }
                    });
                }
                if rules.faults && !flight.done {
                    actions.push(Action::Commit {
                        holder,
                        answered: None,
                    });
                }
            }
            None => self.operations_of(holder, rules, actions),
        }
        // An id that repeats is one id: a history issues one, any. What else a holder issues makes
        // it release less.
        if self.issued.is_none() {
            for (slot, holding) in state.holdings.iter().enumerate() {
                let grant = holding.map(|holding| holding.held.grant);
                let ticks = grant.map_or(0..0, |grant| grant.start..grant.end);
                let shown = ticks.filter(|now| self.may_show(*now, rules));
                actions.extend(shown.map(|now| Action::Take { holder, slot, now }));
            }
        }
        if state.is_idle() {
            return;
        }
        if rules.copies && self.copied.is_none() && self.processes[1 - holder].is_idle() {
            actions.push(Action::Copy(holder));
        }
        if rules.faults {
            actions.push(Action::Crash(holder));
            if state.flight.is_some() {
                actions.push(Action::GiveUp(holder));
            }
        }
    }

    /// Whether a process could issue now what was issued already.
    fn repeats_an_id(&self, rules: Rules) -> bool {
        let Some(id) = self.issued.filter(|_| !self.is_shared) else {
            return false;
        };
        // What two copies issue until the second one asks the store, nothing can prevent.
        let mut holdings = self
            .processes
            .iter()
            .flat_map(|state| state.holdings)
            .flatten()
            .filter(|holding| !holding.copied);
        holdings.any(|holding| {
            let mut ticks = holding.held.grant.start..holding.held.grant.end;
            ticks.any(|now| self.may_show(now, rules) && { holding }.take(now) == Some(id))
        })
    }

    fn operations_of(&self, holder: usize, rules: Rules, actions: &mut Vec<Action>) {
        let state = &self.processes[holder];
        let is_releasing = match state.asked {
            None => false,
            Some(Asked::Release(_)) => true,
            // It is on its way.
            Some(Asked::Acquire | Asked::Renew) => return,
        };
        let slots = state.holdings.iter().enumerate();
        let held = slots.filter(|(_, holding)| holding.is_some() && !is_releasing);
        let given_back = held.map(|(slot, _)| slot).chain(is_releasing.then_some(0));
        actions.extend(given_back.map(|slot| Action::Release { holder, slot }));
        if is_releasing {
            return;
        }
        let held = state.held().count();
        let may_grow = held + usize::from(rules.at_once) <= usize::from(rules.most_held);
        let may_begin = self.acquires < rules.acquires && may_grow;
        // What is granted while nobody knows of the loss cannot be told from what was forgotten.
        // But who has seen a later record knows.
        let knows = !self.unnoticed || state.is_witness(self.store.records.name);
        for now in self.readings(rules) {
            if held > 0 {
                actions.push(Action::Renew { holder, now });
            }
            if (state.pending.is_some() || may_begin) && knows {
                actions.extend((0..rules.node_ids).map(|offered| Action::Acquire {
                    holder,
                    offered,
                    now,
                }));
            }
        }
    }

    /// Whether a holder's clock may show a tick.
    fn may_show(&self, now: u8, rules: Rules) -> bool {
        !matches!(rules.clocks, Clocks::OneMachine(_)) || now == self.time
    }

    /// What the store's clock may show.
    fn readings(&self, rules: Rules) -> impl Iterator<Item = u8> + use<> {
        let (any, near) = match rules.clocks {
            Clocks::Any(readings) => (readings, 0..0),
            // What is further off is refused alike.
            Clocks::MachinesAgree(_) => (&[][..], self.time.saturating_sub(2)..self.time + 2),
            Clocks::OneMachine(_) => (&[][..], self.time..self.time + 1),
        };
        any.iter().copied().chain(near)
    }
}
