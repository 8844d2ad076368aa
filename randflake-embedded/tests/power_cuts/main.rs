//! Power cuts in each write and erase of the horizon, and again while it recovers.
//!
//! The promise: what a `raise` has answered is never forgotten, and nothing is invented. Designs that break it show that
//! the models can tell.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod designs;
mod model;

use designs::{Ours, OverwritesSlots, TrustsBlankSlots, TrustsRecords};
use model::{Broken, Question, explore};

#[test]
fn ours() {
    let start = std::time::Instant::now();
    let seen = explore::<Ours, 4>(Question::default()).unwrap();
    println!("{seen:?} {:?}", start.elapsed());
}

#[test]
fn theirs() {
    let q = Question::default();
    println!("{:?}", explore::<TrustsBlankSlots, 4>(q));
    println!("{:?}", explore::<TrustsRecords, 4>(q));
    println!("{:?}", explore::<OverwritesSlots, 4>(q));
}
