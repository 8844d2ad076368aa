//! Namespaces and counters of servers that a test has started itself, and so knows to be new.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::sync::Mutex;

use randflake_std::lease::{LeaseStore, StoreError};
use randflake_std::segment::CounterError;

/// Declares a namespace new when its store is opened for the first time at a URL: on a server, one that is not there may
/// have been lost, and waits. Later stores find what the test has made of it.
pub(crate) fn declared_new(url: &str, mut store: LeaseStore) -> Result<LeaseStore, StoreError> {
    static DECLARED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let place = (url.to_owned(), store.namespace().name().to_owned());
    // Kept meanwhile: whoever starts at the same time waits for it.
    let mut declared = DECLARED.lock().unwrap();
    if !declared.contains(&place) {
        store.end_quarantine()?;
        declared.insert(place);
    }
    Ok(store)
}

/// The counters that a test has declared new, as long as its server has lost none.
#[derive(Debug, Default)]
pub(crate) struct NewCounters {
    names: Mutex<BTreeSet<String>>,
    is_lost: AtomicBool,
}

impl NewCounters {
    /// Declares a counter new when it is opened for the first time.
    pub(crate) fn declared(
        &self,
        name: &str,
        mut store: LeaseStore,
    ) -> Result<LeaseStore, CounterError> {
        let mut names = self.names.lock().unwrap();
        if !self.is_lost.load(Ordering::Relaxed) && names.insert(name.to_owned()) {
            store.create_counter()?;
        }
        Ok(store)
    }

    /// The server is about to lose them: from now on none is new.
    pub(crate) fn lose(&self) -> Vec<String> {
        self.is_lost.store(true, Ordering::Relaxed);
        self.names.lock().unwrap().iter().cloned().collect()
    }
}
