//! Namespaces of servers that a test has started itself, and so knows to be new.

use std::collections::BTreeSet;
use std::sync::Mutex;

use randflake_std::lease::{LeaseStore, StoreError};

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
