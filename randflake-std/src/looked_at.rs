//! Test engine whose looks find what the test says: on a server or not, disconnected, lost.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use randflake_lease::EngineError;
use randflake_lease::unstable::engine::{Ask, Engine, LeaseStore, Look, Profile, Reading};
use randflake_lease::unstable::rules::{Removal, Write, WriteOutcome};

/// What the test says of an engine, and how often it was looked at.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    pub(crate) is_on_server: bool,
    pub(crate) look_every: Option<Duration>,
    pub(crate) has_disconnected: bool,
    pub(crate) lost: Option<&'static str>,
    pub(crate) looks: u32,
}

#[derive(Debug)]
struct LookedAt {
    engine: Box<dyn Engine>,
    sight: Arc<Mutex<Sight>>,
}

/// A store of which a test says what a look at it finds.
pub(crate) fn looked_at(
    store: impl Into<LeaseStore>,
    sight: Sight,
) -> (LeaseStore, Arc<Mutex<Sight>>) {
    let sight = Arc::new(Mutex::new(sight));
    let engine = |engine| LookedAt {
        engine,
        sight: Arc::clone(&sight),
    };
    (store.into().wrapped(engine), Arc::clone(&sight))
}

impl LookedAt {
    fn sight(&self) -> MutexGuard<'_, Sight> {
        self.sight.lock().unwrap()
    }
}

impl Engine for LookedAt {
    fn profile(&self) -> Profile {
        let sight = self.sight();
        Profile {
            has_own_clock: sight.is_on_server,
            look_every: sight.look_every,
            ..self.engine.profile()
        }
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        let mut sight = self.sight();
        sight.looks += 1;
        Ok(sight
            .lost
            .map_or(Look::Same, |why| Look::Lost(why.to_owned())))
    }

    fn has_disconnected(&mut self) -> bool {
        self.sight().has_disconnected
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        self.engine.read(ask)
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        self.engine.write(write)
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
        self.engine.abandon();
    }
}
