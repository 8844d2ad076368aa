//! Sequential numbers: every number of every segment is issued once, to one thread and to many.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use randflake_core::internal::{PutError, SegmentBuffer};
use randflake_core::segment::Segment;
use randflake_core::{Id, Permutation, Sparx64};

const TAKERS: usize = 3;
const SEGMENTS: u64 = if cfg!(miri) { 10 } else { 50_000 };

fn segment(first: u64, len: u64) -> Segment {
    Segment::new(first, len).unwrap()
}

#[test]
fn numbers_are_those_of_the_segments_in_their_order() {
    let buffer = SegmentBuffer::<AtomicU64>::new(segment(5, 3));
    let mut expected = vec![5, 6, 7];
    let mut issued = Vec::new();
    let mut first = 8;
    for len in [1, 2, 7, 1, 1, 3] {
        first += 10;
        buffer.put(segment(first, len)).unwrap();
        expected.extend(first..first + len);
        // Into the segment just put, so that there is room for the next.
        while issued.len() + 1 < expected.len() {
            issued.push(buffer.take(1).unwrap().first());
        }
        assert_eq!(buffer.remaining(), 1);
    }
    issued.push(buffer.take(1).unwrap().first());
    assert_eq!(issued, expected);
    assert_eq!(buffer.take(1), None);
    assert_eq!(
        (buffer.remaining(), buffer.taken()),
        (0, issued.len() as u64)
    );
}

#[test]
fn many_threads_get_every_number_once() {
    let buffer = SegmentBuffer::<AtomicU64>::new(segment(1, 3));
    let ended = AtomicBool::new(false);
    let take_all = |most| {
        let mut numbers = Vec::new();
        loop {
            // Read before the attempt: nothing is put after it.
            let has_ended = ended.load(Ordering::Acquire);
            match buffer.take(most) {
                Some(taken) => numbers.extend(taken.first()..taken.end()),
                None if has_ended => return numbers,
                None => thread::yield_now(),
            }
        }
    };
    let mut expected: Vec<_> = (1..4).collect();
    let issued = thread::scope(|scope| {
        let takers = [(); TAKERS].map(|()| scope.spawn(|| take_all(1)));
        let runs = scope.spawn(|| take_all(3));
        for n in 1..SEGMENTS {
            // Of many lengths, with gaps.
            let next = segment(n * 10, 1 + n % 7);
            expected.extend(next.first()..next.end());
            while buffer.put(next) == Err(PutError::Full) {
                thread::yield_now();
            }
        }
        ended.store(true, Ordering::Release);
        let taken = takers.into_iter().chain([runs]);
        let mut issued: Vec<_> = taken.flat_map(|taker| taker.join().unwrap()).collect();
        issued.sort_unstable();
        issued
    });
    assert!(
        issued == expected,
        "a number is missing, or was issued twice"
    );
}

#[test]
fn under_the_cipher_each_has_another_public_form() {
    let cipher = Sparx64::new(&[7; 16]);
    let buffer = SegmentBuffer::<AtomicU64>::new(segment(1, 700));
    buffer.put(segment(1_001, 700)).unwrap();
    let mut ids = vec![Id::from_u64(0); 2_000];
    assert_eq!(buffer.fill(&mut ids, &cipher), 1_400);
    let numbers: Vec<_> = ids[..1_400]
        .iter()
        .map(|id| cipher.invert(id.to_u64()))
        .collect();
    assert_eq!(numbers, (1..701).chain(1_001..1_701).collect::<Vec<_>>());
}
