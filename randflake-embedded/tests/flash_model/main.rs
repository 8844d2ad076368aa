//! A model of flash, and a search of all that may happen to a horizon in it.
//!
//! What a slot may do is the statement that the stores are proved against:
//!
//! - a slot that was erased, or written and read back, without a cut reads the same from then on;
//! - a slot that a cut write or erase touched may read, at *each* read, as what it was, as what it was to become, as blank, as
//!   noise, or not at all;
//! - an operation may be done and reported as failed, and a future may be dropped anywhere;
//! - one bit may change in either direction, and one cell may be dead.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the sequences are to be read")]

mod choices;
mod designs;
mod explore;
mod flash;
mod slots;

use designs::{Design, Nor, WriteOnce};
use explore::{Fault, explore};
use flash::{Dead, World};

/// The sequence of the fewest boots after which a design forgets, which must exist.
fn forgets<D: Design, const SLOTS: usize>(world: &World) -> String {
    let broken = explore::<D, SLOTS>(world).expect_err("the model is too kind");
    println!("{world:?}\n{}", broken.story);
    assert_eq!(broken.fault, Fault::Forgotten, "{}", broken.story);
    broken.story
}

/// An erase that first programs ones to zeros leaves ones torn, too. Writing the head of such a page again settles its zeros
/// only.
#[test]
fn nor_forgets_after_cuts_alone_where_an_erase_programs_first() {
    let story = forgets::<Nor, 4>(&World {
        pages: 2,
        unanswered: 2,
        both_ways: true,
        ..World::default()
    });
    assert_eq!(story.matches("boot").count(), 4, "{story}");
}

/// A retry erases the page whose head is the highest, so that one boot does what takes two by cuts alone.
#[test]
fn nor_forgets_after_a_failure_and_a_retry() {
    let story = forgets::<Nor, 4>(&World {
        pages: 2,
        unanswered: 2,
        both_ways: true,
        failures: 1,
        ..World::default()
    });
    assert_eq!(story.matches("boot").count(), 3, "{story}");
}

#[test]
fn nor_forgets_by_one_bit() {
    forgets::<Nor, 4>(&World {
        pages: 2,
        lost_bits: 1,
        may_refuse: true,
        ..World::default()
    });
}

/// Words that were torn in a write read differently each time.
#[test]
fn write_once_forgets_after_three_cuts_in_two_pages() {
    let world = World {
        pages: 2,
        unanswered: 2,
        write_once: true,
        may_refuse: true,
        ..World::default()
    };
    explore::<WriteOnce, 3>(&world).unwrap();
    explore::<WriteOnce, 3>(&World {
        unreadable: true,
        dead: Some(Dead {
            slot: 2,
            bit: 20,
            is_set: true,
        }),
        ..world
    })
    .unwrap();
    forgets::<WriteOnce, 3>(&World {
        unanswered: 3,
        ..world
    });
}

/// What earlier cuts have left outlives an answered raise, so that three in a row are too many for three pages too.
#[test]
fn write_once_forgets_after_three_cuts_in_three_pages() {
    forgets::<WriteOnce, 3>(&World {
        pages: 3,
        unanswered: 3,
        write_once: true,
        may_refuse: true,
        ..World::default()
    });
}
