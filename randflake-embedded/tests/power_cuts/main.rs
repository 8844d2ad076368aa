//! Power cuts in each write and erase of the horizon, and again while it recovers.
//!
//! The promise: what a `raise` has answered is never forgotten, and nothing is invented. Designs that break it show that
//! the model can tell. `cargo xtask horizon` asks more of it, for some minutes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod designs;
mod model;
mod random;
mod sizes;
mod verifying;
mod worn;

use designs::{Design, Ours, OverwritesSlots, TrustsBlankSlots, TrustsRecords};
use model::flash::{Dead, Faults};
use model::{Broken, Question, Seen, explore};

/// Two pages of four slots: a head, and the three kinds that come behind it.
fn ours(question: Question) -> Seen {
    explore::<Ours, 4>(question).unwrap()
}

/// Each kind of cell that may be dead, in each slot: one that is 0 in the records of the model, one that is 1 there, and
/// one of a mark, each of which can no more be written or erased.
fn each_dead(slots: usize) -> impl Iterator<Item = Faults> {
    const ZERO: u64 = 1 << 20;
    const ONE: u64 = 1 << 52;
    const OF_MARK: u64 = 2;
    let kinds = [(ZERO, 0), (0, ZERO), (0, ONE), (OF_MARK, 0), (0, OF_MARK)];
    (0..slots).flat_map(move |slot| {
        kinds.into_iter().flat_map(move |(one, zero)| {
            [false, true].map(|verifies| Faults {
                errors: 0,
                dead: Dead { slot, one, zero },
                verifies,
            })
        })
    })
}

/// Whether more is asked: for minutes, by `cargo xtask horizon`.
fn is_long() -> bool {
    std::env::var_os("RANDFLAKE_HORIZON_LONG").is_some()
}

#[test]
fn no_cut_and_no_failure_makes_it_forget_or_invent() {
    let faults = Faults {
        errors: if is_long() { 2 } else { 1 },
        ..Faults::default()
    };
    let seen = ours(Question {
        faults,
        ..Question::default()
    });
    assert!(seen.states > 1_000 && seen.boots > 1_000_000, "{seen:?}");
}

#[test]
fn no_lost_bit_makes_it_forget_or_invent() {
    let seen = ours(Question {
        losses: 1,
        raises: if is_long() { 2 } else { 1 },
        ..Question::default()
    });
    assert!(seen.states > 5_000, "{seen:?}");
}

#[test]
fn no_dead_bit_makes_it_forget_or_invent() {
    let (slots, raises) = if is_long() { (8, 2) } else { (4, 1) };
    for faults in each_dead(slots) {
        ours(Question {
            faults,
            raises,
            ..Question::default()
        });
    }
}

/// What is wrong with a design.
fn fault<D: Design>() -> Option<Broken> {
    explore::<D, 4>(Question::default()).err()
}

#[test]
fn designs_that_look_as_if_they_would_do_are_broken() {
    assert_eq!(fault::<TrustsBlankSlots>(), Some(Broken::Forgotten));
    assert_eq!(fault::<TrustsRecords>(), Some(Broken::Forgotten));
    assert_eq!(fault::<OverwritesSlots>(), Some(Broken::Invented));
}
