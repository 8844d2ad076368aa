//! Everything that may happen to two processes and one node id, in any order.

use stateright::{Model, Property};

use crate::holder::{Holder, Holding};
use crate::rules::{Flaw, Rules};
use crate::store::{Reply, Request, Store};
use crate::{CLOCK_READINGS, HOLDERS, MAX_ACQUIRES, MAX_LOSSES};

pub(crate) const NO_ID_REPEATS: &str = "no id repeats";
pub(crate) const ONE_ID_AFTER_A_LOSS: &str = "an id is issued after the store lost its leases";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) holders: [Holder; HOLDERS],
    /// How many acquires were begun: each has a token of its own.
    acquires: u8,
    /// The raw ids issued, as bits.
    issued: u32,
    repeated: bool,
    losses: u8,
    /// Once only: else a copy of the copy would have the name of a process that has crashed.
    copied: bool,
    issued_after_loss: bool,
    /// The latest time that the store's clock showed, where that matters.
    latest: u8,
}

/// Clocks have no state: whoever reads one gets any tick. To pause is to do nothing meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Also what makes another process of the holder: it has lost its lease, or has released it.
    Acquire(usize),
    Renew(usize),
    /// Seals, and asks for the release.
    Release(usize),
    /// The store does what a holder asked for, the first time or again.
    Execute {
        holder: usize,
        now: u8,
    },
    /// The store does what a process that crashed had asked for.
    ExecuteLate {
        holder: usize,
        now: u8,
    },
    LoseReply(usize),
    Receive {
        holder: usize,
        now: u8,
    },
    Take {
        holder: usize,
        now: u8,
    },
    Crash(usize),
    /// The other process becomes a copy of this one, which has asked for a lease.
    Copy(usize),
    Flush,
    Replicate,
    Promote,
}

impl Model for Rules {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::default()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.repeated {
            return; // What comes after is of no interest.
        }
        let readings = 0..CLOCK_READINGS;
        let store_readings = match self.store_steps_back {
            Some(ticks) => world.latest.saturating_sub(ticks)..CLOCK_READINGS,
            None => readings.clone(),
        };
        for (holder, state) in world.holders.iter().enumerate() {
            match (state.request, state.holding) {
                (None, None) if world.acquires < MAX_ACQUIRES => {
                    actions.push(Action::Acquire(holder));
                }
                (None, Some(_)) => {
                    actions.extend([Action::Renew(holder), Action::Release(holder)]);
                }
                (Some(_), _) if state.reply.is_none() => {
                    let at = |now| Action::Execute { holder, now };
                    actions.extend(store_readings.clone().map(at));
                }
                (Some(_), _) => {
                    actions.push(Action::LoseReply(holder));
                    // Only a renewal looks at the holder's clock.
                    let readings = match state.reply {
                        Some(Reply::Renewed(Some(_))) => readings.clone(),
                        _ => 0..1,
                    };
                    let at = |now| Action::Receive { holder, now };
                    actions.extend(readings.map(at));
                }
                (None, None) => {}
            }
            if state.late.is_some() {
                let at = |now| Action::ExecuteLate { holder, now };
                actions.extend(store_readings.clone().map(at));
            }
            if state.holding.is_some() {
                let at = |now| Action::Take { holder, now };
                actions.extend(readings.clone().map(at));
            }
            if state.holding.is_some() || state.request.is_some() {
                actions.push(Action::Crash(holder));
            }
            let other = &world.holders[1 - holder];
            if let Some(Request::Acquire { .. }) = state.request
                && !world.copied
                && other.request.is_none()
                && other.holding.is_none()
            {
                actions.push(Action::Copy(holder));
            }
        }
        actions.push(Action::Replicate);
        if world.losses < MAX_LOSSES {
            actions.extend([Action::Flush, Action::Promote]);
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = *before;
        world.apply(action, *self);
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NO_ID_REPEATS, |_, world: &World| !world.repeated),
            // Else the model could hold because nothing happens in it.
            Property::sometimes(ONE_ID_AFTER_A_LOSS, |_, world: &World| {
                world.issued_after_loss
            }),
        ]
    }
}

impl World {
    pub(crate) fn apply(&mut self, action: Action, rules: Rules) {
        match action {
            Action::Acquire(holder) => {
                self.acquires += 1;
                let token = self.acquires;
                self.holders[holder].request = Some(Request::Acquire { token });
            }
            Action::Renew(holder) => {
                let state = &mut self.holders[holder];
                state.request = state.holding.map(|holding| Request::Renew(holding.grant));
            }
            Action::Release(holder) => {
                let state = &mut self.holders[holder];
                let sealed = state.holding.map(Holding::sealed);
                state.request = sealed.map(Request::Release);
                if !rules.has(Flaw::IssueAfterRelease) {
                    state.holding = None;
                }
            }
            Action::Execute { holder, now } => {
                if let Some(request) = self.holders[holder].request {
                    let reply = self.execute(request, holder, now, rules);
                    self.holders[holder].reply = Some(reply);
                }
            }
            Action::ExecuteLate { holder, now } => {
                if let Some(request) = self.holders[holder].late {
                    self.execute(request, holder, now, rules);
                }
            }
            Action::LoseReply(holder) => self.holders[holder].reply = None,
            Action::Receive { holder, now } => self.holders[holder].receive(now),
            Action::Take { holder, now } => self.take(holder, now),
            Action::Crash(holder) if rules.has(Flaw::RestartOnOldInterval) => {
                self.holders[holder].crash_and_go_on();
            }
            Action::Crash(holder) => self.holders[holder].crash(),
            Action::Copy(holder) => {
                let request = self.holders[holder].request;
                self.holders[1 - holder].request = request;
                self.copied = true;
            }
            Action::Flush => {
                self.losses += 1;
                self.store.flush(rules);
            }
            Action::Replicate => self.store.replicate(),
            Action::Promote => {
                self.losses += 1;
                self.store.promote(rules);
            }
        }
    }

    fn execute(&mut self, request: Request, holder: usize, now: u8, rules: Rules) -> Reply {
        if rules.store_steps_back.is_some() {
            self.latest = self.latest.max(now);
        }
        let holder = u8::try_from(holder).unwrap();
        self.store.execute(request, holder, now, rules)
    }

    fn take(&mut self, holder: usize, now: u8) {
        let Some(holding) = &mut self.holders[holder].holding else {
            return;
        };
        if let Some(id) = holding.take(now) {
            let bit = 1 << id;
            self.repeated |= self.issued & bit != 0;
            self.issued |= bit;
            self.issued_after_loss |= self.losses > 0;
        }
    }
}
