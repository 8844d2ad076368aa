//! A store whose engine tells a watcher what it is asked, and passes all of it on.

use core::fmt::Debug;
use core::time::Duration;
use std::collections::BTreeMap;

use randflake_lease::unstable::engine::{Ask, Engine, Look, Profile, Reading};
use randflake_lease::unstable::rules::{Removal, Write, WriteOutcome};
use randflake_lease::{EngineError, Finding, LeaseStore, StoreError};

/// What a test looks at.
pub(crate) trait Watcher: Debug + Send + 'static {
    /// What the store takes the engine for.
    fn profile(&self, profile: Profile) -> Profile {
        profile
    }

    /// An acquire or a renewal under a TTL begins, or a look with the time limit of a shorter one.
    fn begins(&mut self, ttl: Duration) {
        _ = ttl;
    }

    /// This was read.
    fn has_read(&mut self, ask: &Ask<'_>, reading: &Reading) {
        _ = (ask, reading);
    }

    /// This is about to be written.
    fn writes(&mut self, write: &Write) {
        _ = write;
    }

    /// This was written, or not.
    fn has_written(&mut self, write: &Write, committed: WriteOutcome) {
        _ = (write, committed);
    }

    /// Nothing follows from the last read.
    fn abandons(&mut self) {}

    /// Whether the connection counts as broken, which the engine says of itself.
    fn has_disconnected(&mut self, is_so: bool) -> bool {
        is_so
    }
}

/// A store that is watched.
pub(crate) fn watched(store: impl Into<LeaseStore>, watcher: impl Watcher) -> LeaseStore {
    store.into().wrapped(|engine| Watched { engine, watcher })
}

#[derive(Debug)]
struct Watched<W> {
    engine: Box<dyn Engine>,
    watcher: W,
}

impl<W: Watcher> Engine for Watched<W> {
    fn profile(&self) -> Profile {
        self.watcher.profile(self.engine.profile())
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let reading = self.engine.read(ask)?;
        self.watcher.has_read(ask, &reading);
        Ok(reading)
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        self.watcher.writes(write);
        let committed = self.engine.write(write)?;
        self.watcher.has_written(write, committed);
        Ok(committed)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.engine.diagnose()
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        self.engine.namespaces(only)
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        self.engine.remove(removal)
    }

    fn abandon(&mut self) {
        self.watcher.abandons();
        self.engine.abandon();
    }

    fn has_disconnected(&mut self) -> bool {
        let is_so = self.engine.has_disconnected();
        self.watcher.has_disconnected(is_so)
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        self.engine.look()
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.watcher.begins(ttl);
        self.engine.limit_for(ttl);
    }

    fn open_deferred(&mut self) -> Result<Option<LeaseStore>, StoreError> {
        self.engine.open_deferred()
    }
}
