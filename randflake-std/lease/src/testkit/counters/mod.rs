//! The contract of stores that keep counters, for every store to be run against.
//!
//! A backend's file implements [`Counters`] and calls `counter_contract!` with an expression that
//! makes an empty store; each test gets its own.

mod history;
mod reserve;
mod terms;

use core::fmt::Debug;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::store::LeaseStore;
use crate::types::CounterError;
use crate::types::Namespace;
use randflake_core::segment::Segment;

use crate::testkit::leases::Backend;
pub use crate::testkit::leases::eight as namespace;
pub use history::*;
pub use reserve::*;
pub use terms::*;

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
        true
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
