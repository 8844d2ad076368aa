//! All states that boots lead to, whose power is cut in any write or erase, with all readings of what is torn.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use randflake_core::HorizonStore;

use crate::designs::{Design, Small};
use crate::flash::{Readings, Unreadable};

/// What may happen. Slots that are torn in an erase may show something else at each boot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unstable {
    /// Those that are torn in a write, too.
    pub(crate) writes: bool,
    /// How many boots in a row are cut at most while they begin a page; `None` for any number.
    pub(crate) cuts_in_a_row: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    flash: Small,
    promised: u32,
    cuts_in_a_row: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Forgotten,
    Invented,
    WrittenTwice,
}

/// Between any two horizons of a state there is room for others.
const GAP: u32 = 32;
/// A first raise after a boot goes to the next horizon there is; to one that is hidden now; beyond that, and so on.
const STEPS: [u32; 4] = [4, GAP, GAP + 4, 2 * GAP + 4];
/// So many that a page gets full.
const RAISES: u32 = 3;

/// How many states there are, if none breaks the promise.
pub(crate) fn explore<D: Design>(
    pages: u32,
    unreadable: Unreadable,
    unstable: Unstable,
) -> Result<usize, Broken> {
    let mut flash = Small::new(pages, unreadable);
    D::open(&mut flash)
        .unwrap()
        .raise(GAP)
        .map_err(drop)
        .unwrap();
    flash.reads = 0;
    let provisioned = State {
        flash,
        promised: GAP,
        cuts_in_a_row: 0,
    };
    let mut seen = HashSet::from([provisioned.clone()]);
    let mut next = vec![provisioned];
    while let Some(state) = next.pop() {
        for shown in readings(&state.flash.torn()) {
            for step in STEPS {
                let mut fuel = 0;
                while let Some(states) = boot::<D>(&state, &shown, step, fuel, unstable)? {
                    for state in states {
                        if seen.insert(state.clone()) {
                            next.push(state);
                        }
                    }
                    fuel += 1;
                }
            }
        }
    }
    Ok(seen.len())
}

/// A boot that is cut after so much fuel, and what it may leave; none if it was not cut any more.
fn boot<D: Design>(
    state: &State,
    shown: &Shown,
    step: u32,
    fuel: u32,
    unstable: Unstable,
) -> Result<Option<Vec<State>>, Broken> {
    let mut state = state.clone();
    state.flash.shown.clone_from(shown);
    state.flash.fuel = fuel;
    let known: Vec<u32> = state.flash.slots.values().flatten().copied().collect();
    let Some(mut opened) = D::open(&mut state.flash) else {
        return Err(Broken::Forgotten);
    };
    if opened.unix_s() < state.promised {
        return Err(Broken::Forgotten);
    }
    if !known.contains(&opened.unix_s()) {
        return Err(Broken::Invented);
    }
    for raise in 0..RAISES {
        let to = opened.unix_s() + if raise == 0 { step } else { 4 };
        if opened.raise(to).is_err() {
            break;
        }
        (state.promised, state.cuts_in_a_row) = (to, 0);
    }
    drop(opened);
    if state.flash.was_written_twice {
        return Err(Broken::WrittenTwice);
    }
    let Some(cut) = state.flash.cut.take() else {
        return Ok(None);
    };
    if let Some(most) = unstable.cuts_in_a_row {
        state.cuts_in_a_row += u32::from(cut.begins_page);
        if state.cuts_in_a_row > most {
            return Ok(Some(Vec::new()));
        }
    }
    state.flash.shown.clear();
    state.flash.reads = 0;
    if cut.erases || unstable.writes {
        return Ok(Some(vec![state.in_small_numbers()]));
    }
    let mut torn = state.flash.torn();
    torn.retain(|slot, _| cut.slots.contains(slot));
    let settled = readings(&torn).into_iter().map(|shown| {
        let mut state = state.clone();
        let once = shown
            .into_iter()
            .map(|(slot, horizon)| (slot, vec![horizon]));
        state.flash.slots.extend(once);
        state.in_small_numbers()
    });
    Ok(Some(settled.collect()))
}

type Shown = BTreeMap<u32, u32>;

/// All ways in which torn slots may read.
fn readings(torn: &BTreeMap<u32, Readings>) -> Vec<Shown> {
    let mut all = vec![Shown::new()];
    for (slot, readings) in torn {
        let with = |shown: &Shown| {
            let shown = shown.clone();
            readings.iter().map(move |horizon| {
                let mut shown = shown.clone();
                shown.insert(*slot, *horizon);
                shown
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

impl State {
    /// Only the order of the horizons counts, so that there are finitely many states.
    fn in_small_numbers(mut self) -> Self {
        let readings = self.flash.slots.values().flatten().copied();
        let horizons: BTreeSet<u32> = readings.chain([0, self.promised]).collect();
        let number = |horizon: u32| GAP * u32::try_from(horizons.range(..horizon).count()).unwrap();
        for horizon in self.flash.slots.values_mut().flatten() {
            *horizon = number(*horizon);
        }
        self.promised = number(self.promised);
        self
    }
}
