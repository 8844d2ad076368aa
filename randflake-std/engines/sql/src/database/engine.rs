//! Reads and writes of any database, as the rules ask for them.

use core::time::Duration;
use std::collections::BTreeMap;

use super::{Database, DatabaseFailure, DatabaseSession, Driver, Effect};
use crate::values::{count, time};
use crate::{SingleUpdate, SqlValue, emptied};
use randflake_lease::unstable::engine::{Ask, Engine, Look, Profile, Reading};
use randflake_lease::unstable::engine::{Keys, Removal, Write, WriteOutcome};
use randflake_lease::unstable::url::ExistingEngine;
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Finding, Namespace, StoreError};

impl<D: Driver> Database<D> {
    /// The namespace in the database on a server. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for the URL; [`StoreError::Unavailable`] if the store's runtime
    /// cannot be made.
    pub fn at(location: &Location, namespace: &Namespace) -> Result<Self, StoreError> {
        Ok(Self::over(D::of(location)?, location, namespace)?)
    }

    /// The same as
    /// [`Registration::open_existing`](randflake_lease::unstable::url::Registration::open_existing).
    ///
    /// # Errors
    ///
    /// As for [`at`](Database::at).
    pub fn boxed(location: &Location, namespace: &Namespace) -> ExistingEngine {
        Ok(Some(Box::new(Self::at(location, namespace)?)))
    }
}

impl<D: Driver> Engine for Database<D> {
    fn profile(&self) -> Profile {
        Profile {
            has_own_clock: self.has_own_clock,
            // The statements of a write compare fingerprint, window and settings themselves.
            blind_renewal: true,
            url: Some(self.url.clone()),
            // Tables can be exchanged under a session, and not every client tells of a broken
            // connection.
            look_every: Some(Duration::from_secs(1)),
            ..Profile::at(self.place.clone())
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        // Owned, because the operation may run in the thread of a helper.
        let (keys, limit) = (ask.keys.to_vec(), ask.limit);
        // With a limit nothing is counted: the range may be all 2^32 node ids.
        let texts = limit.unwrap_or_else(|| count(&keys));
        if ask.with_state {
            return self.run(texts, Effect::Reads, async move |session| {
                look(session, &keys).await
            });
        }
        let read = async move |session: &mut D::Session| session.texts(&keys, limit).await;
        self.run(texts, Effect::Reads, read).map(Reading::of_texts)
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let texts = write.entries.len();
        let write = write.clone();
        self.run(texts, Effect::Writes, async move |session| {
            commit(session, &write).await
        })
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        self.names(only)
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        /// How many texts a namespace may have: its node ids, and some of their history.
        // At 0.1 ms for each text it is 20 s, the `statement_timeout` of PostgreSQL's sessions.
        const MANY: usize = 200_000;
        let texts = match removal {
            Removal::Contents(_) => MANY,
            Removal::History(_, places) => places.len(),
        };
        let ([low_kind, high_kind], [from, to]) = removal.kinds_and_numbers();
        // An empty guard compares nothing: no record is an empty text.
        let guard = removal.guard().unwrap_or_default().to_owned();
        let name = self.namespace.clone();
        self.run(texts, Effect::Writes, async move |session| {
            let numbers = [low_kind.into(), high_kind.into(), from, to].map(SqlValue::Number);
            let [name, guard] = [&name, &guard].map(|text| SqlValue::Text(text));
            let values = [&[name][..], &numbers, &[guard, name]].concat();
            session.ask(D::Session::REMOVE, &values).await.map(drop)
        })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.run(0, Effect::Reads, async |session| session.findings().await)
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        // A new session would know the tables as they are now.
        if !self.has_open_session() {
            return Ok(Look::Changed);
        }
        let look = async |session: &mut D::Session| session.has_same_tables().await;
        let is_same = self.run(0, Effect::LooksAtSession, look);
        Ok(if is_same? { Look::Same } else { Look::Changed })
    }

    fn has_disconnected(&mut self) -> bool {
        self.has_closed_session()
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.limit_for(ttl);
    }
}

/// Reads texts, and how things stand, in one round trip.
async fn look<S: DatabaseSession>(
    session: &mut S,
    keys: &[Keys],
) -> Result<Reading, DatabaseFailure> {
    let (state, texts) = session.look(keys).await?;
    // Somebody has deleted the row that identifies the store.
    state.ok_or_else(emptied)?.reading(texts)
}

async fn commit<S: DatabaseSession>(
    session: &mut S,
    write: &Write,
) -> Result<WriteOutcome, DatabaseFailure> {
    let now = match session.write(write, SingleUpdate::of(&write.entries)).await {
        // A deadlock, a duplicate key or a planned failure: what the transaction had locked is let
        // go. Nothing of it was written, so the caller reads again, and decides anew.
        Err(failure) if failure.is_overtaken() => {
            session.roll_back().await?;
            None
        }
        outcome => outcome?,
    };
    Ok(
        now.map_or(WriteOutcome::Stale, |unix_us| WriteOutcome::Written {
            now: time(unix_us),
        }),
    )
}
