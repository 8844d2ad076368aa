//! Counters with steps, and with dates.

use core::time::Duration;

use crate::store::LeaseStore;
use crate::types::{CounterError, CounterTerms, DatedNumbers, Period};

use super::{Counters, namespace};

const DAY: Duration = Duration::from_secs(86_400);

/// A client that says how its counter counts.
fn open(backend: &impl Counters, name: &str, terms: CounterTerms) -> LeaseStore {
    let mut store = backend.open_counter(&namespace(name));
    store.counter().set_terms(terms);
    store
}

/// One by the clock that the test sets.
fn begun(backend: &impl Counters, terms: CounterTerms) -> LeaseStore {
    let mut store = backend.open(&namespace("orders")).unwrap();
    store.counter().set_terms(terms);
    store.counter().create().unwrap();
    store
}

pub fn daily(digits: u8) -> CounterTerms {
    CounterTerms::dated(DatedNumbers::new(Period::Day, digits).unwrap())
}

/// As five databases that know nothing of each other have.
pub fn counters_with_steps_share_no_number(backend: &impl Counters) {
    let mut numbers: Vec<u64> = (1..=5)
        .flat_map(|first| {
            let terms = CounterTerms::stepped(first, 5).unwrap();
            let name = format!("orders-{first}");
            let mut store = open(backend, &name, terms);
            store.counter().create().unwrap();
            let reserved = store.counter().reserve(3).unwrap();
            assert_eq!((reserved.first(), reserved.end()), (first, first + 15));
            // Without terms a client goes on as the counter counts.
            let other = backend
                .open_counter(&namespace(&name))
                .counter()
                .reserve(1)
                .unwrap();
            assert_eq!((other.first(), other.step()), (first + 15, 5));
            reserved.numbers().chain(other.numbers())
        })
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=20));
}

pub fn other_terms_of_a_counter_are_refused_by_name(backend: &impl Counters) {
    let two = CounterTerms::stepped(2, 5).unwrap();
    let three = CounterTerms::stepped(3, 5).unwrap();
    let mut store = open(backend, "orders", two);
    store.counter().create().unwrap();
    // Nobody has a number yet.
    let mut other = open(backend, "orders", three);
    let refused = other.counter().reserve(1).unwrap_err().to_string();
    for part in [
        "from 2 in steps of 5",
        "this client says from 3 in steps of 5",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    other.counter().create().unwrap();
    assert_eq!(other.counter().reserve(1).unwrap().first(), 3);
    for outcome in [
        store.counter().reserve(1).map(drop),
        store.counter().create(),
        store.counter().resume(7).map(drop),
        open(backend, "orders", daily(6))
            .counter()
            .reserve(1)
            .map(drop),
    ] {
        let refused = outcome.unwrap_err();
        let is_named = matches!(refused, CounterError::OtherTerms { kept, .. } if kept == three);
        assert!(is_named, "{refused:?}");
    }
    assert_eq!(other.counter().status().unwrap().terms, Some(three));
    // After a loss somebody says both: how it counts, and where it goes on.
    backend.lose_counters();
    assert_eq!(other.counter().resume(9).unwrap(), 13);
    assert_eq!(other.counter().reserve(2).unwrap().end(), 23);
}

pub fn dated_numbers_begin_anew_and_never_repeat(backend: &impl Counters) {
    let terms = daily(6);
    let dates = terms.dates().unwrap();
    let mut store = begun(backend, terms);
    assert!(store.counter().status().unwrap().is_unused);
    let mut reserved = Vec::new();
    let mut reserve = |store: &mut LeaseStore, count| {
        let segment = store.counter().reserve(count).unwrap();
        reserved.extend(segment.numbers());
        dates.date_and_count(segment.first())
    };
    let (first, count) = reserve(&mut store, 10);
    assert_eq!(count, 1);
    let (second, count) = reserve(&mut store, 10);
    // A test may run over midnight.
    assert!((second, count) == (first, 11) || count == 1);
    let mut dates_seen = vec![second];
    for _ in 0..3 {
        backend.pass(DAY);
        let (date, count) = reserve(&mut store, 2);
        assert!(date > *dates_seen.last().unwrap() && count == 1);
        dates_seen.push(date);
    }
    // The clock was ahead, and is set back: nothing is issued by anybody.
    backend.step_clock(0, -i64::try_from(DAY.as_millis() * 2).unwrap());
    let status = store.counter().status().unwrap();
    assert!(
        status
            .ahead_for
            .is_some_and(|ahead| ahead > DAY && ahead <= DAY * 2)
    );
    let Err(CounterError::Ahead {
        passes_in, message, ..
    }) = store.counter().reserve(1)
    else {
        panic!("it went back");
    };
    assert!(passes_in > DAY && passes_in <= DAY * 2, "{message}");
    assert!(
        message.contains("until 20") && message.contains("never go back"),
        "{message}"
    );
    // The time comes.
    backend.pass(DAY * 2);
    let (date, count) = reserve(&mut store, 1);
    assert!((date, count) == (*dates_seen.last().unwrap(), 3) || count == 1);
    let before = reserved.len();
    assert!(reserved.is_sorted());
    reserved.dedup();
    assert_eq!(reserved.len(), before);
}

pub fn a_period_that_has_used_its_digits_says_so(backend: &impl Counters) {
    let mut store = begun(backend, daily(1));
    // Of a test that runs over midnight the next day is full.
    let full = (0..2).find_map(|_| {
        let reserved = store.counter().reserve(9).ok()?;
        assert_eq!(reserved.len(), 9);
        store.counter().reserve(1).err()
    });
    let Some(CounterError::Full {
        left: 0,
        passes_in,
        message,
        ..
    }) = full
    else {
        panic!("{full:?}");
    };
    assert!(passes_in <= DAY, "{message}");
    assert!(
        message.contains("has 0 of its 9 numbers left") && message.contains("more digits"),
        "{message}"
    );
    backend.pass(DAY);
    assert_eq!(store.counter().reserve(9).unwrap().len(), 9);
}
