//! Planted flaws: engines that break one promise each, so that an author sees that the tests of the
//! contract find it.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::rules::{Before, Removal, Write, WriteOutcome};
use crate::store::{Ask, Engine, LeaseStore, Look, Profile, Reading};
use crate::types::{EngineError, Finding, StoreError};

/// A promise of the contract that an engine breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flaw {
    /// Writes although other texts are there than were expected.
    IgnoresConditions,
    /// Writes the first entry alone.
    WritesHalf,
    /// Says that a write was done, and keeps nothing.
    KeepsNothing,
    /// Gives all texts of a read but the last one.
    ReadsLess,
    /// Has the same fingerprint after a loss, and says that a namespace which is missing has never
    /// been there.
    HidesLosses,
    /// Removes although its guard does not hold.
    RemovesUnguarded,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::IgnoresConditions,
        Self::WritesHalf,
        Self::KeepsNothing,
        Self::ReadsLess,
        Self::HidesLosses,
        Self::RemovesUnguarded,
    ];
}

/// The same store, whose engine has a flaw from now on.
#[must_use]
pub fn planted(store: LeaseStore, flaw: Flaw) -> LeaseStore {
    store.wrapped(|engine| Flawed { engine, flaw })
}

#[derive(Debug)]
struct Flawed {
    engine: Box<dyn Engine>,
    flaw: Flaw,
}

impl Engine for Flawed {
    fn profile(&self) -> Profile {
        self.engine.profile()
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let mut reading = self.engine.read(ask)?;
        match self.flaw {
            Flaw::ReadsLess => _ = reading.texts.pop_last(),
            Flaw::HidesLosses => {
                "always".clone_into(&mut reading.continuity.fingerprint);
                reading.continuity.is_absence_certain = true;
                reading.continuity.known_end_unix_ms = 0;
            }
            _ => {}
        }
        Ok(reading)
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut write = write.clone();
        match self.flaw {
            Flaw::IgnoresConditions => {
                for entry in &mut write.entries {
                    entry.before = Before::Anything;
                }
            }
            Flaw::WritesHalf => write.entries.truncate(1),
            Flaw::KeepsNothing => {
                let state = self.engine.read(&Ask::with_state(&[]))?;
                return Ok(WriteOutcome::Written { now: state.now });
            }
            Flaw::HidesLosses => {
                // What a write must find is what the engine says now.
                let state = self.engine.read(&Ask::with_state(&[]))?;
                write.fingerprint = state.continuity.fingerprint;
            }
            Flaw::ReadsLess | Flaw::RemovesUnguarded => {}
        }
        self.engine.write(&write)
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
        if let (Flaw::RemovesUnguarded, Removal::Contents(_), Some(namespace)) =
            (self.flaw, removal, self.namespace_text()?)
        {
            return self.engine.remove(&Removal::Contents(&namespace));
        }
        self.engine.remove(removal)
    }

    fn whole_server(&mut self) -> Result<Option<Box<dyn Engine>>, EngineError> {
        self.engine.whole_server()
    }

    fn abandon(&mut self) {
        self.engine.abandon();
    }

    fn has_disconnected(&mut self) -> bool {
        self.engine.has_disconnected()
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        self.engine.look()
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.engine.limit_for(ttl);
    }

    fn open_deferred(&mut self) -> Result<Option<LeaseStore>, StoreError> {
        self.engine.open_deferred()
    }
}

impl Flawed {
    /// The record that a removal must find, as it is there now.
    fn namespace_text(&mut self) -> Result<Option<String>, EngineError> {
        use crate::rules::{Key, Keys};
        let keys = [Keys::One(Key::Namespace)];
        let reading = self.engine.read(&Ask::texts(&keys))?;
        Ok(reading.texts.into_values().next())
    }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    use std::sync::Arc;

    use randflake_core::ManualClock;

    use super::*;
    use crate::store::MemoryStore;
    use crate::testkit::leases::{self, BEGIN_UNIX_MS, Backend, eight};
    use crate::types::Namespace;

    struct Planted {
        clock: Arc<ManualClock>,
        store: MemoryStore,
        flaw: Option<Flaw>,
    }

    impl Planted {
        fn new(flaw: Option<Flaw>) -> Self {
            let clock = Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS));
            let store = MemoryStore::new(eight("first"), Arc::clone(&clock));
            Self { clock, store, flaw }
        }
    }

    impl Backend for Planted {
        fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
            let store = self.store.open(namespace.clone())?.into();
            Ok(match self.flaw {
                None => store,
                Some(flaw) => planted(store, flaw),
            })
        }

        fn names(&self) -> Vec<String> {
            let names = self.store.clone().catalog().names().unwrap();
            names.unwrap_or_default().names
        }

        fn find(&self, name: &str) -> Option<Namespace> {
            self.store.clone().catalog().find(name).unwrap()
        }

        fn step_clock(&self, _: usize, ms: i64) {
            self.clock.step_ms(ms);
        }

        fn lose_memory(&self) {
            self.store.forget();
        }
    }

    /// The test that finds each flaw.
    fn finds(flaw: Flaw) -> fn(&Planted) {
        match flaw {
            Flaw::IgnoresConditions | Flaw::WritesHalf => leases::a_large_write_is_all_or_nothing,
            Flaw::RemovesUnguarded => leases::nothing_is_written_or_removed_beside_its_condition,
            Flaw::KeepsNothing => leases::what_was_answered_is_kept,
            Flaw::ReadsLess => leases::a_read_gives_what_was_asked_for,
            Flaw::HidesLosses => leases::a_store_that_forgot_waits,
        }
    }

    #[test]
    fn each_flaw_is_found() {
        for flaw in Flaw::ALL {
            let test = finds(flaw);
            test(&Planted::new(None));
            let flawed = Planted::new(Some(flaw));
            let outcome = catch_unwind(AssertUnwindSafe(|| test(&flawed)));
            assert!(outcome.is_err(), "{flaw:?} is not found");
        }
    }

    /// Whatever the other tests say: the referee sees a tick that is granted twice.
    #[test]
    fn random_histories_find_hidden_losses() {
        let flawed = Planted::new(Some(Flaw::HidesLosses));
        let history = AssertUnwindSafe(|| leases::random_histories_grant_no_tick_twice(&flawed));
        assert!(catch_unwind(history).is_err());
    }
}
