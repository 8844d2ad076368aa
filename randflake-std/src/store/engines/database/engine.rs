//! Reads and writes of any database, as the rules ask for them.

use core::time::Duration;
use std::collections::BTreeMap;

use super::catalog::forget;
use super::values::{count, time};
use super::{
    Database, DatabaseFailure, DatabaseSession, Driver, SingleUpdate, Value, emptied, pooled,
};
use crate::rules::{Committed, Continuity, Key, Keys, Write};
use crate::store::url::Server;
use crate::store::{Engine, Ledger, Reading};
use crate::vocabulary::{EngineError, Finding, Namespace, StoreError};

impl<D: Driver> Ledger<Database<D>> {
    /// Opens the store that a URL names, creating its tables if they are not there.
    ///
    /// It blocks: see [how long](crate::lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood, or lacks a host or what else the server needs.
    /// [`StoreError::Unusable`] when
    ///
    /// - the server's certificate is not trusted, the server refuses user, password or database, or it is too old,
    /// - it has a setting by which a crash loses leases,
    /// - the tables were changed, or made by somebody who is not trusted, or a newer version made them,
    /// - the namespace has other terms,
    /// - a pooler gives each statement another session,
    /// - this build cannot encrypt but should.
    ///
    /// [`StoreError::Unavailable`] when there is no answer, or only servers that cannot write. No error shows a password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::at(&Server::at(url, D::SCHEME)?, namespace)
    }

    pub(crate) fn at(server: &Server, namespace: &Namespace) -> Result<Self, StoreError> {
        let database = Self::engine_at(server, namespace)?;
        Self::opened(database, namespace.clone())
    }

    /// Nothing is asked yet.
    pub(crate) fn engine_at(
        server: &Server,
        namespace: &Namespace,
    ) -> Result<Database<D>, StoreError> {
        Ok(Database::over(D::of(server)?, server, namespace)?)
    }
}

impl<D: Driver> Database<D> {
    /// The namespace in the database that a URL names, for a [`Ledger`] that compares the server's clock with
    /// none, as in simulations. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood, or lacks a host or what else the server needs.
    pub fn new(url: &str, namespace: &Namespace) -> Result<Self, StoreError> {
        let server = Server::at(url, D::SCHEME)?;
        Ok(Self::over(D::of(&server)?, &server, namespace)?)
    }
}

impl<D: Driver> Engine for Database<D> {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError> {
        let keys = keys.to_vec();
        self.run(count(&keys), true, async move |session| {
            read(session, &keys).await
        })
    }

    fn write(&mut self, write: &Write) -> Result<Committed, EngineError> {
        let texts = write.entries.len();
        let write = write.clone();
        self.run(texts, false, async move |session| {
            commit(session, &write).await
        })
    }

    fn list(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let keys = [Keys::Nodes(first..=u32::MAX)];
        let list = async move |session: &mut D::Session| session.texts(&keys, Some(most)).await;
        let texts = self.run(most, true, list)?.into_iter();
        let nodes = texts.filter_map(|(key, text)| match key {
            Key::Node(node_id) => Some((node_id, text)),
            _ => None,
        });
        Ok(nodes.collect())
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        self.names(only)
    }

    fn claim(&mut self, check: u32, text: &str) -> Result<String, EngineError> {
        let text = text.to_owned();
        let claim = async move |session: &mut D::Session| {
            let check = Value::Number(check.into());
            session
                .ask(D::Session::CLAIM, &[check, Value::Text(&text)])
                .await?;
            // A statement of its own: the first one does not see what another client has put meanwhile.
            let there = session.ask(D::Session::CLAIMED, &[check]).await?;
            Ok(there.ok_or_else(emptied)?.concat())
        };
        // Twice does what once does.
        self.run(1, true, claim)
    }

    fn forget(&mut self, keys: &Keys) -> Result<(), EngineError> {
        let name = self.namespace.clone();
        let keys = keys.clone();
        self.run(keys.each().count(), false, async move |session| {
            forget(session, &name, &keys).await
        })
    }

    fn clear(&mut self, namespace: &str) -> Result<(), EngineError> {
        /// How many texts a namespace may have.
        const MANY: usize = 200_000;
        let namespace = namespace.to_owned();
        self.run(MANY, false, async move |session| {
            session.clear(&namespace).await
        })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.run(0, true, async |session| session.findings().await)
    }

    fn has_disconnected(&mut self) -> bool {
        self.has_closed_session()
    }

    fn has_own_clock(&self) -> bool {
        self.has_own_clock
    }

    fn renews_unread(&self) -> bool {
        true
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.limit_for(ttl);
    }
}

/// Reads texts in one round trip.
async fn read<S: DatabaseSession>(
    session: &mut S,
    keys: &[Keys],
) -> Result<Reading, DatabaseFailure> {
    let is_record = |keys: &Keys| matches!(keys, Keys::One(Key::Namespace | Key::Counter));
    if !keys.iter().any(is_record) {
        // More of a search, whose first look has found how things stand; its write looks again.
        return Ok(Reading {
            now: Duration::ZERO,
            continuity: Continuity::default(),
            texts: session.texts(keys, None).await?,
        });
    }
    look(session, keys).await
}

async fn look<S: DatabaseSession>(
    session: &mut S,
    keys: &[Keys],
) -> Result<Reading, DatabaseFailure> {
    let (state, texts) = session.look(keys).await?;
    let state = state.ok_or_else(emptied)?;
    // First: what another session says is of no use.
    if !state.is_same_session {
        return Err(DatabaseFailure::of_the_connection(pooled()));
    }
    Ok(Reading {
        now: state.now,
        continuity: Continuity {
            fingerprint: state.fingerprint(),
            fault: state.fault.map(|fault| {
                format!("the server would forget leases in a crash: it runs with {fault}")
            }),
            ..Continuity::default()
        },
        texts,
    })
}

async fn commit<S: DatabaseSession>(
    session: &mut S,
    write: &Write,
) -> Result<Committed, DatabaseFailure> {
    let now = match session.write(write, SingleUpdate::of(&write.entries)).await {
        Err(failure) if failure.is_overtaken() => {
            session.roll_back().await?;
            None
        }
        outcome => outcome?,
    };
    Ok(now.map_or(Committed::Stale, |unix_us| Committed::Done {
        now: time(unix_us),
    }))
}
