//! Threads that fight for one word, while the clock jumps about and the lease is extended, and
//! closed at the end: every id is another one, and inside the lease.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use randflake_core::internal::first_ready_within;
use randflake_core::{AtomicWord, Clock, GenerateError, Lease, ManualClock, Sequencer, Snowflake};

const TAKERS: u32 = 3;
/// How long the clock jumps about; no assertion depends on it.
const RUN_FOR: Duration = Duration::from_millis(if cfg!(miri) { 30 } else { 250 });
/// Nearly all that a 32-bit word counts.
const LEASE_TICKS: u64 = 1_000_000;
const MOST_IDS: usize = if cfg!(miri) { 200 } else { 3_000_000 };

/// Takes raw ids until the lease is closed, over, or enough are issued.
fn take_all(take: impl Fn() -> Result<u64, GenerateError>) -> Vec<u64> {
    let mut raws = Vec::new();
    while raws.len() < MOST_IDS {
        match take() {
            Ok(raw) => raws.push(raw),
            Err(GenerateError::Closed) => break,
            Err(_) => thread::yield_now(),
        }
    }
    raws
}

/// Turns the clock on by three steps, and back by two, until the time is up.
fn jump_about(clock: &ManualClock, mut at_each_jump: impl FnMut()) {
    let started = Instant::now();
    while started.elapsed() < RUN_FOR {
        for _ in 0..3 {
            clock.advance_ms(1);
            at_each_jump();
            thread::yield_now();
        }
        clock.step_ms(-2);
        thread::yield_now();
    }
}

fn assert_distinct(mut raws: Vec<u64>) {
    assert!(!raws.is_empty());
    let issued = raws.len();
    raws.sort_unstable();
    raws.dedup();
    assert_eq!(raws.len(), issued, "an id was issued twice");
}

fn tick(raw: u64) -> u64 {
    raw >> 22
}

fn fight_for_one_word<W: AtomicWord + Sync>(tolerance: u32) {
    let clock = &ManualClock::at_unix_ms(1_288_834_974_657);
    let lease = |end| Lease::new(Snowflake, 1, 0, end).unwrap();
    let sequencer = &Sequencer::<Snowflake, W>::new(lease(10)).unwrap();
    let closed = &AtomicBool::new(false);
    let take = || {
        let was_closed = closed.load(Ordering::SeqCst);
        let result = sequencer.take(clock, tolerance);
        assert!(
            !(was_closed && result.is_ok()),
            "issued after close had returned"
        );
        result
    };
    let (raws, unused_from) = thread::scope(|scope| {
        let takers: Vec<_> = (0..TAKERS)
            .map(|_| scope.spawn(|| take_all(take)))
            .collect();
        let mut end = 10;
        jump_about(clock, || {
            end = (end + 1).min(LEASE_TICKS);
            sequencer.extend(lease(end), clock).unwrap();
        });
        let unused_from = sequencer.close().unwrap();
        closed.store(true, Ordering::SeqCst);
        let raws = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        (raws.collect::<Vec<_>>(), unused_from)
    });
    let last = raws.iter().copied().map(tick).max().unwrap();
    assert_eq!(unused_from, last + 1);
    assert!(last < sequencer.lease().end());
    assert_distinct(raws);
}

#[test]
fn a_64_bit_word() {
    fight_for_one_word::<AtomicU64>(0);
}

#[test]
fn a_32_bit_word() {
    fight_for_one_word::<AtomicU32>(0);
}

#[test]
fn a_word_that_is_let_go_ahead() {
    fight_for_one_word::<AtomicU64>(3);
}

#[test]
fn a_pool_under_threads() {
    let clock = &ManualClock::at_unix_ms(1_288_834_974_657);
    let members = [1, 2, 3].map(|node_id| {
        Sequencer::<Snowflake, AtomicU32>::new(
            Lease::new(Snowflake, node_id, 0, LEASE_TICKS).unwrap(),
        )
        .unwrap()
    });
    let (members, cursor) = (&members, &AtomicU32::new(0));
    let raws = thread::scope(|scope| {
        let take = || {
            first_ready_within(members, cursor, 1, |member, ticks| {
                member.take(clock, ticks)
            })
        };
        let takers: Vec<_> = (0..TAKERS)
            .map(|_| scope.spawn(move || take_all(take)))
            .collect();
        jump_about(clock, || assert!(clock.now().is_some()));
        for member in members {
            member.close().unwrap();
        }
        let raws = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        raws.collect()
    });
    assert_distinct(raws);
}
