//! A store that is opened when it is first used.

use core::fmt::{self, Debug, Formatter};
use std::collections::BTreeMap;

use super::{Ask, Engine, LeaseStore, Profile, Reading};
use crate::rules::{Removal, Write, WriteOutcome};
use crate::types::{EngineError, Namespace, StoreError};

/// A store that is opened when it is first used, and after a failure by the next use.
///
/// To open a store is to call it, and fails when its server does not answer. Deferred, this is part
/// of the first acquire: so `Builder::wait` waits for a server that cannot be reached yet, and
/// `Builder::build_async` connects in the thread that it builds in.
///
/// The store must be of the same namespace, or every use is refused as [`StoreError::Invalid`].
///
/// ```
/// use randflake_core::{ManualClock, Randflake};
/// use randflake_lease::{MemoryStore, Namespace, deferred};
/// use std::sync::Arc;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let store = deferred(&namespace, move |namespace| {
///     Ok(MemoryStore::new(namespace.clone(), clock.clone()))
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn deferred<S, F>(namespace: &Namespace, mut open: F) -> LeaseStore
where
    S: Into<LeaseStore>,
    F: FnMut(&Namespace) -> Result<S, StoreError> + Send + 'static,
{
    let engine = DeferredEngine {
        namespace: namespace.clone(),
        open: Box::new(move |namespace| open(namespace).map(Into::into)),
    };
    LeaseStore::over(engine, namespace.clone())
}

type Open = dyn FnMut(&Namespace) -> Result<LeaseStore, StoreError> + Send;

/// In the place of an engine until the first use. No operation reaches it: each begins with
/// [`ready`](LeaseStore::ready).
struct DeferredEngine {
    namespace: Namespace,
    open: Box<Open>,
}

impl Engine for DeferredEngine {
    fn profile(&self) -> Profile {
        Profile::at("a store that is not open yet")
    }

    fn open_deferred(&mut self) -> Result<Option<LeaseStore>, StoreError> {
        let store = (self.open)(&self.namespace)?;
        // Its ids would be those of another namespace, where others have the same node ids.
        if *store.namespace() != self.namespace {
            return Err(StoreError::Invalid(format!(
                "the store was opened for namespace {:?}, or other terms, and {:?} was asked for",
                store.namespace().name(),
                self.namespace.name()
            )));
        }
        Ok(Some(store))
    }

    fn read(&mut self, _: &Ask<'_>) -> Result<Reading, EngineError> {
        Err(not_open())
    }

    fn write(&mut self, _: &Write) -> Result<WriteOutcome, EngineError> {
        Err(not_open())
    }

    fn namespaces(
        &mut self,
        _: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        Err(not_open())
    }

    fn remove(&mut self, _: &Removal<'_>) -> Result<(), EngineError> {
        Err(not_open())
    }
}

fn not_open() -> EngineError {
    EngineError::unavailable("the store is not open yet")
}

impl Debug for DeferredEngine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("DeferredEngine")
    }
}
