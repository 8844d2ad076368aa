//! Every word under threads that fight for it: each position comes out exactly once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use core::sync::atomic::AtomicU32;
use std::thread;

use randflake_core::{AtomicWord, GenerateError, Lease, ManualClock, Sequencer, Snowflake};
use randflake_embedded::{CriticalSectionWord, PortableWord};

fn issues_each_position_once<W: AtomicWord + Sync>() {
    const TICKS: u64 = 50;
    let clock = ManualClock::at_unix_ms(1_288_834_974_657);
    let lease = Lease::new(Snowflake, 1, 0, TICKS).unwrap();
    let sequencer = Sequencer::<Snowflake, W>::new(lease).unwrap();
    let take_all = || {
        let mut raws = Vec::new();
        loop {
            match sequencer.take(&clock, 0) {
                Ok(raw) => raws.push(raw),
                Err(GenerateError::SequenceExhausted { .. }) => clock.advance_ms(1),
                Err(GenerateError::LeaseOver { .. }) => return raws,
                Err(other) => panic!("{other}"),
            }
        }
    };
    let mut raws: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take_all)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let issued = raws.len();
    raws.sort_unstable();
    raws.dedup();
    assert_eq!(raws.len(), issued, "no position was issued twice");
    assert!(issued >= 4096, "at least one tick was used up");
}

#[test]
fn critical_section_word_issues_each_position_once() {
    issues_each_position_once::<CriticalSectionWord>();
}

#[test]
fn portable_word_issues_each_position_once() {
    issues_each_position_once::<PortableWord>();
}

#[test]
fn native_word_issues_each_position_once() {
    issues_each_position_once::<AtomicU32>();
}
