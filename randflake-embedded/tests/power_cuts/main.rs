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
use model::flash::{Dead, Faults};
use model::{Question, explore};

#[test]
fn ours() {
    for (name, q) in [
        (
            "errors1",
            Question {
                faults: Faults {
                    errors: 1,
                    ..Default::default()
                },
                ..Question::default()
            },
        ),
        (
            "loss1",
            Question {
                losses: 1,
                ..Question::default()
            },
        ),
    ] {
        let start = std::time::Instant::now();
        println!("{name} {:?} {:?}", explore::<Ours, 4>(q), start.elapsed());
    }
    for slot in [0, 1, 2, 3, 4] {
        for (one, zero) in [(1 << 20, 0), (0, 1 << 20), (0, 1 << 52), (2, 0), (0, 2)] {
            for verifies in [false, true] {
                let q = Question {
                    faults: Faults {
                        dead: Dead { slot, one, zero },
                        verifies,
                        ..Default::default()
                    },
                    ..Question::default()
                };
                let start = std::time::Instant::now();
                println!(
                    "{slot} {one} {zero} {verifies} {:?} {:?}",
                    explore::<Ours, 4>(q),
                    start.elapsed()
                );
            }
        }
    }
}

#[test]
fn theirs() {
    let q = Question::default();
    println!("{:?}", explore::<TrustsBlankSlots, 4>(q));
    println!("{:?}", explore::<TrustsRecords, 4>(q));
    println!("{:?}", explore::<OverwritesSlots, 4>(q));
}
