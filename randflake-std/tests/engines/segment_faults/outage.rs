//! A store that does not answer, for longer than the stock was asked to last.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use randflake_std::segment::{SegmentError, Segments};

use crate::segment_faults::Engine;

const OUTAGE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);
/// Of a number each millisecond, at most.
const ENOUGH: u32 = 2_000;
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn an_outage_is_survived_for_the_time_asked_for(mut engine: impl Engine) {
    let numbers = Segments::builder(engine.open())
        .lengths(10..=1_000_000)
        .survive(OUTAGE)
        .build()
        .unwrap();
    let mut issued = Vec::new();
    let started = Instant::now();
    while numbers.status().length < ENOUGH {
        assert!(started.elapsed() < LIMIT, "{:?}", numbers.status());
        // Ten a millisecond, however long a busy machine makes the pauses.
        while (issued.len() as u128) < 10 * started.elapsed().as_millis() {
            issued.push(numbers.next_wait(LIMIT).unwrap().to_u64());
        }
        thread::sleep(PAUSE);
    }
    while numbers.status().remaining < u64::from(ENOUGH) {
        assert!(started.elapsed() < LIMIT, "{:?}", numbers.status());
        thread::sleep(PAUSE);
    }

    engine.suspend();
    let away = Instant::now();
    while away.elapsed() < OUTAGE {
        issued.push(numbers.next().unwrap().to_u64());
        thread::sleep(PAUSE);
    }
    // Its end is told, and with whom the fault lies.
    let error = loop {
        match numbers.next() {
            Ok(id) => issued.push(id.to_u64()),
            Err(SegmentError::Refilling) => thread::sleep(PAUSE),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SegmentError::StoreAway { .. }), "{error:?}");
    let status = numbers.status();
    assert_eq!(status.remaining, 0);
    assert!(status.away_for.is_some(), "{status:?}");

    engine.resume();
    for _ in 0..10 * ENOUGH {
        issued.push(numbers.next_wait(LIMIT).unwrap().to_u64());
    }
    assert!(
        issued.is_sorted_by(|a, b| a < b),
        "a number was issued twice"
    );
    // Another process finds the counter beyond all of them.
    let mut store = engine.open();
    let reserved = store.counter().reserve(1).unwrap();
    assert!(Some(&reserved.first()) > issued.last());
}
