//! Counters of stores that a test has made itself, and so knows to be new.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::store::LeaseStore;
use crate::types::CounterError;

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
