//! The horizon in flash whose words are written once: power cuts in each write and erase, over and over.
//!
//! The promise: what a `raise` has answered is never forgotten, nothing is invented, and no word is written twice.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod designs;
mod flash;
mod model;
#[path = "../power_cuts/random.rs"]
mod random;
mod shapes;

use designs::{Ours, Planted};
use flash::Unreadable;
use model::{Broken, Unstable, explore};

/// What is torn in an erase reads differently at each boot, and what is torn in a write does not.
const ERASES: Unstable = Unstable {
    writes: false,
    cuts_in_a_row: None,
};

/// All that is torn reads differently at each boot, and so many boots in a row are cut while they begin a page.
const fn all(cuts_in_a_row: u32) -> Unstable {
    Unstable {
        writes: true,
        cuts_in_a_row: Some(cuts_in_a_row),
    }
}

#[test]
fn no_cut_makes_it_forget_or_invent() {
    for unreadable in [Unreadable::AsIfBlank, Unreadable::Noise, Unreadable::Error] {
        for unstable in [ERASES, all(2)] {
            let states = explore::<Ours>(2, unreadable, unstable).unwrap();
            assert!(states > 90, "only {states} states");
        }
    }
    assert!(explore::<Ours>(3, Unreadable::AsIfBlank, ERASES).unwrap() > 400);
}

#[test]
fn nor_with_three_pages_and_all_that_is_torn_unstable() {
    assert!(explore::<Ours>(3, Unreadable::AsIfBlank, all(2)).unwrap() > 1_000);
}

/// As its documentation says: the model tells where the promise ends.
#[test]
fn three_cuts_in_a_row_with_all_that_is_torn_unstable_are_too_many() {
    let broken = explore::<Ours>(2, Unreadable::AsIfBlank, all(3));
    assert_eq!(broken, Err(Broken::Forgotten));
}

#[test]
fn a_design_that_answers_after_the_first_slot_is_broken() {
    let broken = explore::<Planted<1, 1>>(2, Unreadable::AsIfBlank, all(2));
    assert_eq!(broken, Err(Broken::Forgotten));
}

#[test]
fn a_design_that_trusts_the_first_slot_is_broken() {
    let broken = explore::<Planted<2, 1>>(2, Unreadable::AsIfBlank, all(2));
    assert_eq!(broken, Err(Broken::Forgotten));
}
