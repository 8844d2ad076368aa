//! Sequential numbers of handles, with the store and without it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::ManualClock;
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::segment::{
    CounterError, CounterErrorKind, CounterTerms, DatedNumbers, Period, SegmentError, Segments,
    SegmentsBuildError,
};
use randflake_std::{ExactSystemClock, Id, Plain, Randflake, Secret};

use crate::watched::{Watcher, watched};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

fn store() -> MemoryStore {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    MemoryStore::new(namespace, Arc::new(ExactSystemClock))
}

fn eventually(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LIMIT, "it never came true");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Issues until nothing is left, which may be refilled meanwhile.
fn drain(numbers: &Segments) -> (u64, SegmentError) {
    let mut issued = 0;
    loop {
        match numbers.next() {
            Ok(_) => issued += 1,
            Err(error) => return (issued, error),
        }
    }
}

fn two_in_stock(numbers: &Segments, length: u64) {
    eventually(|| numbers.status().remaining == 2 * length);
}

#[test]
fn numbers_are_dense() {
    let numbers = Segments::builder(store()).lengths(1..=16).build().unwrap();
    for expected in 1..=10_000 {
        assert_eq!(numbers.next_wait(LIMIT).unwrap().to_u64(), expected);
    }
}

#[test]
fn threads_and_handles_share_a_counter() {
    const EACH: usize = 20_000;
    let store = store();
    let build = || Segments::builder(store.clone()).build().unwrap();
    let (a, b) = (build(), build());
    let mut all: Vec<u64> = thread::scope(|scope| {
        let takers = [&a, &a, &b, &b].map(|numbers| {
            scope.spawn(|| {
                let taken: Vec<_> = (0..EACH)
                    .map(|_| numbers.next_wait(LIMIT).unwrap().to_u64())
                    .collect();
                assert!(taken.is_sorted(), "of one handle they ascend");
                taken
            })
        });
        takers.map(|taker| taker.join().unwrap()).concat()
    });
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!((count, all.len()), (4 * EACH, 4 * EACH));
}

#[test]
fn a_buffer_is_filled_over_segments() {
    let numbers = Segments::builder(store())
        .lengths(100..=100)
        .build()
        .unwrap();
    two_in_stock(&numbers, 100);
    let mut ids = [Id::from_u64(0); 150];
    assert_eq!(numbers.fill(&mut ids), Ok(150));
    assert!(ids.iter().map(|id| id.to_u64()).eq(1..=150));
    assert_eq!(numbers.fill(&mut ids[..0]), Ok(0));
}

#[test]
fn a_handle_counts_in_steps_and_compares_them() {
    let terms = CounterTerms::stepped(2, 5).unwrap();
    let mut store = store();
    store.counter().set_terms(terms);
    store.counter().create().unwrap();
    let build = |terms| {
        let builder = Segments::builder(store.clone()).lengths(3..=3);
        builder.terms(terms).build()
    };
    let numbers = build(terms).unwrap();
    for expected in (2..).step_by(5).take(20) {
        assert_eq!(numbers.next_wait(LIMIT).unwrap().to_u64(), expected);
    }
    let refused = build(CounterTerms::stepped(3, 5).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("counts from 2 in steps of 5"));
}

/// What is left of a day is dropped at its end, and what is issued then is of the next one.
#[test]
fn a_handle_goes_on_with_the_next_day() {
    const DAY_MS: u64 = 86_400_000;
    const LEFT_MS: u64 = 400;
    // 2026-11-29T00:00:00Z
    let midnight = 20_786 * DAY_MS;
    let clock = Arc::new(ManualClock::at_unix_ms(midnight - LEFT_MS));
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let mut store = MemoryStore::new(namespace, Arc::clone(&clock));
    let terms = CounterTerms::dated(DatedNumbers::new(Period::Day, 6).unwrap());
    store.counter().set_terms(terms);
    store.counter().create().unwrap();
    let secret = Secret::from_bytes([7; 16]);
    let numbers = Segments::builder(store).encrypted(&secret).build().unwrap();
    let first = numbers.next().unwrap();
    assert_eq!(numbers.text(first), "20261128-000001");
    assert_eq!(numbers.number(first), 20_261_128_000_001);
    clock.advance_ms(LEFT_MS);
    thread::sleep(Duration::from_millis(LEFT_MS));
    let next = numbers.next_wait(LIMIT).unwrap();
    assert_eq!(numbers.text(next), "20261129-000001");
    // Its store's clock is set back: what it has is issued, and no more is reserved.
    clock.step_ms(-5_000_000);
    let refused = loop {
        if let Err(error @ SegmentError::StoreRefuses { .. }) = numbers.next() {
            break error;
        }
    };
    assert!(refused.to_string().contains("refused"));
    let error = numbers.status().last_error.unwrap();
    assert_eq!(error.kind(), CounterErrorKind::Ahead);
}

#[test]
fn under_a_secret_numbers_give_nothing_away() {
    let secret = Secret::from_bytes([7; 16]);
    let numbers = Segments::builder(store())
        .encrypted(&secret)
        .build()
        .unwrap();
    let first = numbers.next().unwrap();
    assert_eq!(first.to_u64(), secret.cipher().encrypt_u64(1));
    assert_eq!(numbers.number(first), 1);
    let mut ids = [Id::from_u64(0); 700];
    assert_eq!(numbers.fill(&mut ids), Ok(700));
    assert!(ids.iter().map(|&id| numbers.number(id)).eq(2..=701));
    assert!(!format!("{numbers:?}").contains("07"), "no secret is shown");
}

#[test]
fn outage_issues_the_stock_then_refuses() {
    let store = store();
    let numbers = Segments::builder(store.clone())
        .lengths(1_000..=1_000)
        .build()
        .unwrap();
    two_in_stock(&numbers, 1_000);
    store.fail_next(u32::MAX);
    let (issued, _) = drain(&numbers);
    assert_eq!(issued, 2_000);
    eventually(|| matches!(numbers.next(), Err(SegmentError::StoreAway { .. })));
    let status = numbers.status();
    assert!(
        status.away_for.is_some() && status.remaining == 0,
        "{status:?}"
    );
    assert!(
        status
            .last_error
            .unwrap()
            .to_string()
            .contains("told to fail")
    );
    let brief = Duration::from_millis(20);
    let Err(SegmentError::StoreAway { since_ms }) = numbers.next_wait(brief) else {
        panic!("the store is still away")
    };
    assert!(since_ms >= 20, "since {since_ms} ms");

    store.fail_next(0);
    assert_eq!(numbers.next_wait(LIMIT).unwrap().to_u64(), 2_001);
    eventually(|| numbers.status().away_for.is_none());
}

#[test]
fn a_lost_reply_leaves_a_gap() {
    let store = store();
    let numbers = Segments::builder(store.clone())
        .lengths(10..=10)
        .build()
        .unwrap();
    two_in_stock(&numbers, 10);
    store.lose_replies(1);
    let taken: Vec<_> = (0..40)
        .map(|_| numbers.next_wait(LIMIT).unwrap().to_u64())
        .collect();
    assert!(taken.into_iter().eq((1..=20).chain(31..=50)));
}

/// The time that the builder was given, at the rate for which segments have become long enough.
#[test]
fn outage_is_survived_for_the_requested_time() {
    const OUTAGE: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(1);
    for percent in [100, 50] {
        let store = store();
        let numbers = Segments::builder(store.clone())
            .lengths(10..=1_000_000)
            .survive(OUTAGE)
            .refill_at_percent(percent)
            .build()
            .unwrap();
        // At most a thousand a second, so at most 2,000 in the outage.
        let enough = 2_000;
        let started = Instant::now();
        let mut issued = 0;
        while numbers.status().length < enough * 100 / percent {
            assert!(started.elapsed() < LIMIT, "{:?}", numbers.status());
            // Four a millisecond, however long a busy machine makes the pauses.
            while issued < 4 * started.elapsed().as_millis() {
                numbers.next_wait(LIMIT).unwrap();
                issued += 1;
            }
            thread::sleep(PAUSE);
        }
        eventually(|| numbers.status().remaining >= u64::from(enough));
        store.fail_next(u32::MAX);
        let away = Instant::now();
        while away.elapsed() < OUTAGE {
            numbers.next().unwrap();
            thread::sleep(PAUSE);
        }
    }
}

#[test]
fn segments_grow_with_the_rate_up_to_the_most() {
    let numbers = Segments::builder(store()).lengths(1..=64).build().unwrap();
    while numbers.status().length < 64 {
        numbers.next_wait(LIMIT).unwrap();
    }
    for _ in 0..1_000 {
        numbers.next_wait(LIMIT).unwrap();
        assert_eq!(numbers.status().length, 64);
    }
}

#[test]
fn rewound_counter_waits_for_an_operator() {
    let mut store = store();
    let numbers = Segments::builder(store.clone())
        .lengths(10..=10)
        .build()
        .unwrap();
    two_in_stock(&numbers, 10);
    store.forget();
    let build = Segments::builder(store.clone()).build();
    assert!(matches!(
        build,
        Err(SegmentsBuildError::Counter(CounterError::Lost { .. }))
    ));
    assert_eq!(drain(&numbers).0, 20, "what is in stock is good");
    eventually(|| matches!(numbers.next(), Err(SegmentError::StoreRefuses { .. })));
    assert!(matches!(
        numbers.next_wait(LIMIT),
        Err(SegmentError::StoreRefuses { .. })
    ));
    let lost = numbers.status().last_error.unwrap();
    assert_eq!(lost.kind(), CounterErrorKind::Lost);
    assert!(lost.to_string().contains("at least 21"), "{lost}");

    // Somebody says it wrongly: the handle, which knew better, has told the store.
    assert_eq!(store.counter().resume(5).unwrap(), 21);
    eventually(|| numbers.next().is_ok_and(|id| id.to_u64() >= 21));
}

#[test]
fn what_makes_no_handle_is_said() {
    let said = |builder: randflake_std::segment::SegmentsBuilder<Plain>| {
        builder.build().unwrap_err().to_string()
    };
    let builder = || Segments::builder(store());
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let reversed = 10..=1;
    for lengths in [0..=5, reversed] {
        let said = said(builder().lengths(lengths));
        assert!(said.contains("at least 1"), "{said}");
    }
    for percent in [0, 101] {
        let said = said(builder().refill_at_percent(percent));
        assert!(said.ends_with("1 to 100 are allowed"), "{said}");
    }
    let store = store();
    store.fail_next(u32::MAX);
    let said = said(Segments::builder(store));
    assert!(said.ends_with("it was told to fail"), "{said}");
}

/// It is counted.
impl Watcher for Arc<()> {}

#[test]
fn the_thread_ends_with_the_last_handle() {
    let alive = Arc::new(());
    let store = watched(store(), Arc::clone(&alive));
    let numbers = Segments::builder(store).build().unwrap();
    let clone = numbers.clone();
    drop(numbers);
    clone.next().unwrap();
    drop(clone);
    eventually(|| Arc::strong_count(&alive) == 1);
}
