//! States that differ in their numbers alone are one: a store only compares horizons.
//!
//! So the numbers in the slots are replaced by others in the same order, and chains of boots of any length lead through
//! a number of states that is finite. And a page whose head is the lower, whatever the two heads may read as, is neither
//! read nor written behind its head until it is erased; the model fails if it is.

use std::sync::LazyLock;

use randflake_core::HorizonRecord;

use super::State;
use super::cells::{DIFFERENT, Readings, Slot};

/// Between two numbers in the slots there is room for three: horizons are multiples of 4.
const STEP: u32 = 16;
/// There are at most so many numbers: one in each slot, and some that a boot adds.
const HIGHEST: u32 = 0x1fc;

/// The horizons of the model, each with the cells that are 0 in its record.
static RECORDS: LazyLock<Vec<(u32, u64)>> = LazyLock::new(|| {
    let horizons = (4..=HIGHEST).step_by(4);
    let zeros = |horizon| {
        let record = HorizonRecord::new(horizon).expect("in range");
        (horizon, !u64::from_le_bytes(record.to_bytes()))
    };
    horizons.map(zeros).collect()
});

fn zeros(horizon: u32) -> u64 {
    RECORDS[horizon as usize / 4 - 1].1
}

/// Those of a mark.
fn mark() -> u64 {
    let [first, second] = HorizonRecord::MARK;
    !(u64::from(second) << 32 | u64::from(first))
}

/// The horizon whose record a slot holds, or a part of it: 0 for none, and nothing if it holds a mixture.
///
/// A cell or two may be dead or lost. Those that are dead are among the cells in which all records are the same.
fn horizon_of(slot: Slot) -> Option<u32> {
    let touched = (slot.zero | slot.torn) & (DIFFERENT & !mark());
    if touched == 0 || slot == Slot::UNKNOWN {
        return Some(0);
    }
    let is_its = |zeros: u64| {
        let zeros = zeros & (DIFFERENT & !mark());
        touched & !zeros == 0 && (zeros & !touched).count_ones() <= 1
    };
    let record = RECORDS.iter().find(|(_, zeros)| is_its(*zeros));
    record.map(|(horizon, _)| *horizon)
}

/// The horizons in the slots, from the lowest.
pub(super) fn horizons(slots: &[Slot]) -> Option<Vec<u32>> {
    let horizons: Option<Vec<u32>> = slots.iter().map(|slot| horizon_of(*slot)).collect();
    let mut horizons = horizons?;
    horizons.sort_unstable();
    horizons.dedup();
    horizons.retain(|horizon| *horizon != 0);
    Some(horizons)
}

/// The state with the lowest numbers of its kind, or nothing if a slot holds a mixture.
///
/// What was tried is what is in a slot: no slot may show anything else.
pub(super) fn normal(mut state: State, readings: &Readings) -> Option<State> {
    forget_old_page(&mut state.slots, readings);
    let mut order = horizons(&state.slots)?;
    if let Err(rank) = order.binary_search(&state.promised)
        && state.promised > 0
    {
        order.insert(rank, state.promised);
    }
    let moved_to = |horizon| {
        let rank = order.binary_search(&horizon).expect("one of them");
        STEP * (u32::try_from(rank).expect("few") + 1)
    };
    state.tried = 0;
    for slot in &mut state.slots {
        let horizon = horizon_of(*slot)?;
        if horizon > 0 {
            let to = moved_to(horizon);
            *slot = moved(*slot, zeros(horizon) ^ zeros(to));
            state.tried = state.tried.max(to);
        }
    }
    if state.promised > 0 {
        state.promised = moved_to(state.promised);
    }
    Some(state)
}

fn forget_old_page(slots: &mut [Slot], readings: &Readings) {
    let (one, other) = slots.split_at_mut(slots.len() / 2);
    let [of_one, of_other] = [&one, &other].map(|page| readings.horizons_of(page[0]));
    let (old, of_old, of_new) = if of_one.start() < of_other.start() {
        (one, of_one, of_other)
    } else {
        (other, of_other, of_one)
    };
    if of_old.end() < of_new.start() {
        old[1..].fill(Slot::UNKNOWN);
    }
}

/// The slot with the cells of some pairs exchanged.
fn moved(slot: Slot, pairs: u64) -> Slot {
    let exchanged = |cells: u64| cells & !pairs | cells.rotate_left(32) & pairs;
    Slot {
        zero: exchanged(slot.zero),
        torn: exchanged(slot.torn),
    }
}
