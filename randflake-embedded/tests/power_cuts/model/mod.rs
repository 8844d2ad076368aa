//! A model checker: every state that a device's flash can come to, through every cut of every write and erase, every
//! way in which torn cells may read, and every chain of boots.
//!
//! What is run is the store itself. A state is what the cells hold, and what was promised and tried; it is boots that
//! lead from one to the next, and each state is gone on from once.

pub(crate) mod cells;
pub(crate) mod choices;
pub(crate) mod flash;
mod normal;

use std::collections::{HashMap, HashSet, VecDeque};

use randflake_core::HorizonStore;

use crate::designs::Design;
use cells::{Readings, Slot};
use choices::Choices;
use flash::{Faults, Flash, Power};
use normal::{horizons, normal};

/// The highest horizon that is tried with a design whose states are taken as they are.
const HIGHEST: u32 = 60;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    slots: Vec<Slot>,
    /// The highest horizon that was answered.
    promised: u32,
    /// The highest that was tried.
    tried: u32,
    /// How many cells may lose their charge from here on.
    losses: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A boot shows less than was answered.
    Forgotten,
    /// A boot shows more than was ever tried.
    Invented,
    /// A raise answers, and the store shows less.
    NotRaised,
    /// A slot holds parts of two records.
    Mixed,
}

/// What there was to see.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) boots: usize,
}

/// What is asked of a design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) faults: Faults,
    /// So many cells lose their charge, in all boots together.
    pub(crate) losses: u32,
    /// So often a boot raises the horizon, at most.
    pub(crate) raises: u32,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            faults: Faults::default(),
            losses: 0,
            raises: 4,
        }
    }
}

/// Goes through all that may happen to a design on two pages of so many slots.
pub(crate) fn explore<D: Design, const SLOTS: usize>(question: Question) -> Result<Seen, Broken> {
    let mut first = State {
        slots: vec![Slot::BLANK; 2 * SLOTS],
        promised: 0,
        tried: 0,
        losses: question.losses,
    };
    first.slots[question.faults.dead.slot].zero |= question.faults.dead.zero;
    let readings = Readings::new(D::view);
    let mut known = HashSet::from([first.clone()]);
    let mut left = VecDeque::from([first]);
    let mut boots = 0;
    while let Some(state) = left.pop_front() {
        let choices = Choices::default();
        let mut opened = Opened::default();
        loop {
            boots += 1;
            let mut next =
                boot::<D, SLOTS>(state.clone(), &question, &readings, &choices, &mut opened)?;
            if D::KEEPS_SLOTS_APART {
                next = normal(next, &readings).ok_or(Broken::Mixed)?;
            }
            if !known.contains(&next) {
                known.insert(next.clone());
                left.push_back(next);
            }
            if !choices.next_run() {
                break;
            }
        }
    }
    Ok(Seen {
        states: known.len(),
        boots,
    })
}

/// What stores know that were opened in one state, and by which ways first: what comes after is the same for all who
/// know the same, because the slots that they go on with read as blank.
type Opened = HashMap<String, Vec<usize>>;

/// From one loss of power to the next.
fn boot<D: Design, const SLOTS: usize>(
    mut state: State,
    question: &Question,
    readings: &Readings,
    choices: &Choices,
    opened_before: &mut Opened,
) -> Result<State, Broken> {
    if state.losses > 0 {
        lose(&mut state, choices);
    }
    let found = if D::KEEPS_SLOTS_APART {
        horizons(&state.slots)
    } else {
        None
    };
    let power = Power::default();
    let mut flash = Flash::<SLOTS>::boot(state.slots, readings, choices, &power, question.faults);
    let State {
        mut promised,
        mut tried,
        losses,
        ..
    } = state;
    if let Ok(mut opened) = D::open(&mut flash) {
        if opened.unix_s() < promised {
            return Err(Broken::Forgotten);
        }
        if opened.unix_s() > tried {
            return Err(Broken::Invented);
        }
        let known = opened_before.entry(format!("{opened:?}"));
        let is_new = *known.or_insert_with(|| choices.taken()) == choices.taken();
        let raises = if is_new { question.raises } else { 0 };
        for raise in 0..raises {
            let mut ways = ways(opened.unix_s(), found.as_deref());
            // The first after a boot meets what others have left.
            if raise > 0 {
                ways.drain(..ways.len() - 1);
            }
            let way = choices.one_of(ways.len() + 1);
            if way == ways.len() || power.is_off() {
                break;
            }
            let to = ways[way];
            // What is there may be raised by a unit.
            tried = tried.max(to.max(opened.unix_s() + 4));
            if opened.raise(to).is_ok() {
                if opened.unix_s() < to {
                    return Err(Broken::NotRaised);
                }
                promised = promised.max(to);
            }
        }
    }
    Ok(State {
        slots: flash.slots,
        promised,
        tried,
        losses,
    })
}

/// What may be asked of a store that shows this horizon: that, and one in each relation to each of those that are in the
/// slots, though nothing may show them.
fn ways(horizon: u32, found: Option<&[u32]>) -> Vec<u32> {
    let mut ways = vec![horizon];
    if let Some(found) = found {
        let mut last = horizon;
        for higher in found.iter().filter(|found| **found > horizon) {
            ways.extend((last + 4 < *higher).then_some(last + 4));
            ways.push(*higher);
            last = *higher;
        }
        ways.push(last + 4);
    } else {
        ways.extend(
            [horizon + 4, horizon + 8]
                .iter()
                .filter(|to| **to <= HIGHEST),
        );
    }
    ways
}

/// While there was no power.
fn lose(state: &mut State, choices: &Choices) {
    let zeros = state.slots.iter().enumerate();
    let zeros = zeros.flat_map(|(at, slot)| slot.zeros().into_iter().map(move |bit| (at, bit)));
    let zeros: Vec<_> = zeros.collect();
    let lost = choices.one_of(1 + zeros.len());
    if let Some((at, bit)) = lost.checked_sub(1).map(|lost| zeros[lost]) {
        state.slots[at].zero &= !bit;
        state.losses -= 1;
    }
}
