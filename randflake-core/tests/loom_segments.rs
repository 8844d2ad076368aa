//! The buffer of two segments under interleavings that loom's memory model allows, bounded to
//! [`PREEMPTIONS`]. Segments have one number, so that slots are written anew as often as can be.

#![cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod loom_word;

use core::sync::atomic;
use std::sync::Arc;

use loom::model::Builder;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_word::LoomWord;
use randflake_core::AtomicWord;
use randflake_core::internal::SegmentBuffer;
use randflake_core::segment::Segment;

const PREEMPTIONS: usize = 2;

/// A word that orders nothing: a slot may seem written before it is, or not yet when it is.
struct RelaxedWord(AtomicU64);

impl AtomicWord for RelaxedWord {
    type Value = u64;

    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn compare_exchange(&self, current: u64, new: u64) -> bool {
        self.0
            .compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

fn segment(first: u64) -> Segment {
    Segment::new(first, 1).unwrap()
}

/// What two takers and the putting thread get of the numbers 1, 11, 21 and so on.
fn numbers<W: AtomicWord<Value = u64> + Send + Sync + 'static>(puts: u64) -> Vec<u64> {
    let buffer = Arc::new(SegmentBuffer::<W>::new(segment(1)));
    let takers = [2, 1].map(|count| {
        let buffer = Arc::clone(&buffer);
        let take = move |_| buffer.take(1).map(|number| number.first());
        thread::spawn(move || (0..count).filter_map(take).collect::<Vec<_>>())
    });
    let mut put = 0;
    for _ in 0..puts {
        put += u64::from(buffer.put(segment(put * 10 + 11)).is_ok());
    }
    let taken = takers.into_iter().flat_map(|taker| taker.join().unwrap());
    let mut numbers: Vec<_> = taken.collect();
    numbers.extend(core::iter::from_fn(|| buffer.take(1)).map(|number| number.first()));
    numbers.sort_unstable();
    assert_eq!(numbers.len() as u64, 1 + put, "a number is missing");
    numbers
}

fn are_as_put(numbers: &[u64]) -> bool {
    let expected = (0..).map(|n| n * 10 + 1);
    numbers.iter().copied().eq(expected.take(numbers.len()))
}

#[test]
fn every_number_is_taken_once_while_segments_are_put() {
    explore(|| {
        let numbers = numbers::<LoomWord>(3);
        assert!(are_as_put(&numbers), "{numbers:?}");
    });
}

#[test]
fn two_threads_that_put_do_not_mix() {
    explore(|| {
        let buffer = Arc::new(SegmentBuffer::<LoomWord>::new(segment(1)));
        buffer.take(1);
        let other = {
            let buffer = Arc::clone(&buffer);
            thread::spawn(move || buffer.put(segment(11)).is_ok())
        };
        let own = buffer.put(segment(21)).is_ok();
        let others = other.join().unwrap();
        let taken = [(); 2].map(|()| buffer.take(1).map(|number| number.first()));
        let expected = match (others, own) {
            (true, true) => [Some(11), Some(21)],
            (true, false) => [Some(11), None],
            (false, true) => [Some(21), None],
            (false, false) => panic!("one of them had to succeed"),
        };
        assert_eq!(taken, expected);
    });
}

/// The models do find what they look for.
#[test]
fn a_word_without_order_is_caught() {
    static WRONG: atomic::AtomicBool = atomic::AtomicBool::new(false);
    explore(|| {
        if !are_as_put(&numbers::<RelaxedWord>(2)) {
            WRONG.store(true, Ordering::Relaxed);
        }
    });
    assert!(WRONG.load(Ordering::Relaxed));
}
