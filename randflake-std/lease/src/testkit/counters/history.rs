//! Random histories of reservations, restarts, losses and clocks.

use core::time::Duration;

use crate::store::LeaseStore;
use crate::types::{CounterError, CounterTerms};
use fastrand::Rng;
use randflake_core::segment::Segment;

use super::{Counters, namespace};
use crate::testkit::counters::terms::daily;

const CLIENTS: usize = 3;
const LONGEST: u64 = 50;
const DAY: Duration = Duration::from_secs(86_400);

pub fn random_histories_reserve_no_number_twice(backend: &impl Counters) {
    let open = || backend.open_counter(&namespace("orders"));
    let history = run(backend, CounterTerms::default(), open);
    assert!(history.reserved.len() > backend.counter_steps() / 10);
}

pub fn random_histories_in_steps_reserve_no_number_twice(backend: &impl Counters) {
    let terms = CounterTerms::stepped(2, 5).unwrap();
    let history = run(backend, terms, || begun(backend, terms));
    assert!(history.reserved.len() > backend.counter_steps() / 10);
    let is_of_terms = |number: u64| number % 5 == 2;
    let mut numbers = history.reserved.iter().flat_map(Segment::numbers);
    assert!(numbers.all(is_of_terms));
}

/// The clock goes ahead and back by days, the store's or each client's own.
pub fn random_histories_of_days_reserve_no_number_twice(backend: &impl Counters) {
    let terms = daily(2);
    let history = run(backend, terms, || begun(backend, terms));
    let dates = terms.dates().unwrap();
    for segment in &history.reserved {
        // No segment reaches into another day, so each number has the date and the place that it is
        // read as.
        let (date, count) = dates.date_and_count(segment.first());
        assert_eq!(dates.date_and_count(segment.end() - 1).0, date);
        assert!(count > 0, "{segment:?}");
    }
    let of_days = [history.ahead, history.full, history.reserved.len()];
    assert!(
        of_days
            .iter()
            .all(|times| *times > backend.counter_steps() / 50),
        "{of_days:?}"
    );
}

/// A client by the test's clock, which says how the counter counts.
fn begun(backend: &impl Counters, terms: CounterTerms) -> LeaseStore {
    let mut store = backend.open(&namespace("orders")).unwrap();
    store.counter().set_terms(terms);
    store
}

#[derive(Debug, Default)]
struct History {
    /// In the order in which they were reserved.
    reserved: Vec<Segment>,
    /// How often a period was not begun, and had too few numbers left.
    ahead: usize,
    full: usize,
    /// How often it was lost, and an operator has resumed it.
    resumed: usize,
}

impl History {
    /// The end of all that was reserved.
    fn end(&self) -> u64 {
        self.reserved.last().map_or(1, Segment::end)
    }

    /// The referee: numbers only grow, over all clients, so none is reserved twice.
    fn note(&mut self, segment: Segment) {
        assert!(segment.first() >= self.end(), "{segment:?} after {self:?}");
        self.reserved.push(segment);
    }
}

fn run(backend: &impl Counters, terms: CounterTerms, open: impl Fn() -> LeaseStore) -> History {
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| open()).collect();
    let mut opened = CLIENTS;
    // Where each has a clock of its own, in which order it was opened.
    let mut places = [0, 1, 2];
    if terms != CounterTerms::default() {
        clients[0].counter().create().unwrap();
    }
    let mut random = Rng::with_seed(1);
    let mut history = History::default();
    let mut is_lost = false;
    for _ in 0..backend.counter_steps() {
        let client = random.usize(..CLIENTS);
        let store = &mut clients[client];
        match random.u64(..100) {
            0..75 => match store.counter().reserve(1 + random.u64(..LONGEST)) {
                Ok(segment) => {
                    assert!(!is_lost, "it went on by itself");
                    history.note(segment);
                }
                Err(CounterError::Lost { .. } | CounterError::Rewound { .. }) => assert!(is_lost),
                Err(CounterError::Ahead { .. }) if terms.dates().is_some() => history.ahead += 1,
                Err(CounterError::Full { .. }) if terms.dates().is_some() => history.full += 1,
                Err(error) => panic!("{error:?}"),
            },
            75..85 if terms.dates().is_some() => match random.u8(..4) {
                0 => backend.step_clock(places[client], -millis(DAY / 2)),
                1 => backend.step_clock(places[client], millis(DAY / 2)),
                _ => backend.pass(DAY / 2),
            },
            85..93 => {
                *store = open();
                places[client] = opened;
                opened += 1;
            }
            93..98 if is_lost && is_resumed(store, terms, history.end()) => {
                history.resumed += 1;
                is_lost = false;
            }
            98 => {
                backend.lose_counters();
                is_lost = true;
            }
            _ => {}
        }
    }
    assert!(history.resumed > 0);
    history
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap()
}

/// An operator resumes the counter above all that was reserved, unless that is a date which has not
/// begun.
fn is_resumed(store: &mut LeaseStore, terms: CounterTerms, end: u64) -> bool {
    let mut numbers = vec![end];
    if let Some(dates) = terms.dates() {
        // What follows on the last number of a day is the first of the next one, which is in
        // another month at times.
        let (date, count) = dates.date_and_count(end);
        numbers.retain(|_| count > 0);
        numbers.extend((1..100).map(|later| (date + later) * 100 + 1));
    }
    numbers
        .into_iter()
        .any(|number| match store.counter().resume(number) {
            Ok(next) => {
                assert!(next >= end);
                true
            }
            Err(CounterError::Invalid(_)) if terms.dates().is_some() => false,
            Err(error) => panic!("{error:?}"),
        })
}
