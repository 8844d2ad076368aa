//! The contract of stores that keep counters, for every store to be run against.
//!
//! A backend's file implements [`Counters`] and calls `counter_contract!` with an expression that
//! makes an empty store; each test gets its own.

mod reserve;

use core::fmt::Debug;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Mutex;

use fastrand::Rng;
use randflake_core::segment::Segment;
pub use reserve::*;

use crate::store::LeaseStore;
use crate::testkit::leases::Backend;
pub use crate::testkit::leases::eight as namespace;
use crate::types::{CounterError, CounterTerms, Namespace};

/// A store that starts empty, and its clients.
pub trait Counters: Backend + Sync {
    /// Whether a counter that is not there begins at 1: nowhere but in memory, which is as new as
    /// its process.
    const BEGINS_BY_ITSELF: bool = false;

    /// Another client, for the counter of any namespace, which is declared new at first.
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore;

    /// Lets the store lose all its records, in a way that it should notice.
    fn lose_counters(&self) {
        self.lose_memory();
    }

    /// Whether a URL leads to it, so that errors can name commands of the tool.
    fn has_url(&self) -> bool {
        false
    }

    /// How many steps a random history has: thousands where they are cheap.
    fn counter_steps(&self) -> usize {
        500
    }
}

/// The counters that a test has declared new, as long as its store has lost none.
#[derive(Debug, Default)]
pub struct NewCounters {
    names: Mutex<BTreeSet<String>>,
    is_lost: AtomicBool,
}

impl NewCounters {
    /// Declares a counter new when it is opened for the first time.
    pub fn declared(&self, name: &str, mut store: LeaseStore) -> Result<LeaseStore, CounterError> {
        let mut names = self.names.lock().unwrap();
        if !self.is_lost.load(Ordering::Relaxed) && names.insert(name.to_owned()) {
            store.counter().create()?;
        }
        Ok(store)
    }

    /// The store is about to lose them: from now on none is new.
    pub fn lose(&self) -> Vec<String> {
        self.is_lost.store(true, Ordering::Relaxed);
        self.names.lock().unwrap().iter().cloned().collect()
    }
}

/// Writes a test for each promise of the contract of counters.
///
/// Its argument makes a [`Counters`] with an empty store: each test has its own.
#[macro_export]
macro_rules! counter_contract {
    ($backend:expr) => {
        $crate::counter_contract! { $backend;
            a_counter_is_dense_from_one_on,
            each_namespace_has_its_counter,
            what_cannot_be_reserved_is_refused,
            the_last_numbers_are_reserved,
            what_was_reserved_is_kept,
            a_counter_goes_on_where_it_is_told,
            a_counter_that_is_not_there_is_lost,
            a_counter_is_declared_new_once,
            a_counter_is_never_told_to_go_back,
            many_clients_at_once_reserve_each_number_once,
            counter_that_may_have_gone_back_needs_an_operator,
            a_second_loss_is_another_one,
            counter_begun_again_beside_its_holder_is_refused,
            counter_with_a_holder_is_not_declared_new,
            counters_with_steps_share_no_number,
            other_terms_of_a_counter_are_refused_by_name,
            dated_numbers_begin_anew_and_never_repeat,
            a_period_that_has_used_its_digits_says_so,
            random_histories_reserve_no_number_twice,
            random_histories_in_steps_reserve_no_number_twice,
            random_histories_of_days_reserve_no_number_twice,
        }
    };
    ($backend:expr; $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::testkit::counters::$name(&$backend);
            }
        )*
    };
}

pub fn segment(first: u64, len: u64) -> Segment {
    Segment::new(first, len).unwrap()
}

pub fn invalid<T: Debug>(outcome: Result<T, CounterError>) -> String {
    match outcome {
        Err(CounterError::Invalid(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

/// How far the counter is known to have come, by a reservation that must be refused.
pub fn lost<T: Debug>(outcome: Result<T, CounterError>) -> u64 {
    match outcome {
        Err(CounterError::Lost { reached, .. }) => reached,
        other => panic!("{other:?}"),
    }
}

/// How far a counter that began again is known to have come.
pub fn rewound<T: Debug>(outcome: Result<T, CounterError>) -> u64 {
    match outcome {
        Err(CounterError::Rewound { reached, .. }) => reached,
        other => panic!("{other:?}"),
    }
}

const CLIENTS: usize = 3;
const LONGEST: u64 = 50;
const DAY: Duration = Duration::from_secs(86_400);

pub fn random_histories_reserve_no_number_twice(backend: &impl Counters) {
    let history = run(backend, CounterTerms::default(), || {
        backend.open_counter(&namespace("orders"))
    });
    assert!(history.reserved.len() > backend.counter_steps() / 10);
}

pub fn random_histories_in_steps_reserve_no_number_twice(backend: &impl Counters) {
    let terms = CounterTerms::stepped(2, 5).unwrap();
    let history = run(backend, terms, || begun(backend, terms));
    assert!(history.reserved.len() > backend.counter_steps() / 10);
    let mut numbers = history.reserved.iter().flat_map(Segment::numbers);
    assert!(numbers.all(|number: u64| number % 5 == 2));
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
