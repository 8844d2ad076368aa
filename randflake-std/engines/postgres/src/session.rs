//! One PostgreSQL session: reads, conditional writes, and a diagnosis of its server.

use core::time::Duration;
use std::collections::BTreeMap;

use tokio::task::{JoinHandle, yield_now};
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Row, SimpleQueryMessage, Statement};

use super::connect::{Postgres, connect};
use super::failure::failure;
use super::statements::{
    CHANGE, CHANGE_AND_PUT, CHECK, ENTER, LOOK, NAMESPACE, NEXT_NAMESPACE, PARTS, PUT, REMOVE,
    SETTINGS, TABLES, TEXTS,
};
use randflake_lease::unstable::engine::{Before, Entry, Key, Keys, Write};
use randflake_lease::unstable::net::{Attempt, ExpectedPeer, Peer};
use randflake_lease::unstable::tls::Files;
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Finding, StoreError};
use randflake_sql::{
    self, DatabaseFailure, DatabaseSession as _, Driver, ServerState, SingleUpdate, SqlValue,
    TextsByKey, emptied, expected, key, whole_pages, window,
};

/// A connection that was found fit, and the store behind it.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    client: Client,
    driver: JoinHandle<()>,
    namespace: String,
    /// Prepared statements, by their text before it was completed.
    statements: BTreeMap<&'static str, Statement>,
    /// The role that the URL trusts besides this one; empty if none.
    owner: String,
    /// Tells it from others that a pooler may put in its place.
    number: String,
    /// Fingerprint of the server and the tables, as it was when the session began.
    fingerprint: String,
    /// The part of the fingerprint that can change under a session: writes compare it.
    tables: String,
}

impl randflake_sql::DatabaseSession for PostgresSession {
    type Driver = Postgres;

    const VERSION: &'static str = "SELECT version::text FROM randflake.store";
    const NAMESPACE: &'static str = NAMESPACE;
    const NEXT_NAMESPACE: &'static str = NEXT_NAMESPACE;
    const REMOVE: &'static str = REMOVE;

    async fn connect(
        postgres: &Postgres,
        attempt: &Attempt,
        namespace: &str,
    ) -> Result<Self, DatabaseFailure> {
        let (client, driver) = connect(postgres, attempt).await?;
        Ok(Self {
            client,
            driver,
            namespace: namespace.to_owned(),
            statements: BTreeMap::new(),
            owner: postgres.owner.clone().unwrap_or_default(),
            // A pooler would hand the same session to others: a number that nobody else has shows
            // the exchange.
            number: getrandom::u64()
                .map_err(EngineError::unavailable)?
                .to_string(),
            fingerprint: String::new(),
            tables: String::new(),
        })
    }

    async fn prepare(&mut self, _: &Postgres) -> Result<(), DatabaseFailure> {
        let answer = self.client.simple_query(SETTINGS).await.map_err(failure)?;
        let is_in_recovery = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        // `target_session_attrs` has chosen a primary; it may have become a standby since.
        if is_in_recovery != Some("f") {
            let why = "the server is a standby, which cannot grant anything";
            return Err(EngineError::unavailable(why).into());
        }
        Ok(())
    }

    async fn distrust(&mut self) -> Result<Option<String>, DatabaseFailure> {
        let owner = self.owner.clone();
        let row = self.ask(CHECK, &[SqlValue::Text(&owner)]).await?;
        Ok(row.map(|row| row.concat()))
    }

    async fn make(&mut self) -> Result<(), DatabaseFailure> {
        let schema = complete(include_str!("schema.sql"));
        self.client.batch_execute(&schema).await.map_err(failure)
    }

    async fn enter(&mut self) -> Result<(), DatabaseFailure> {
        // The statement also gives the session its number, which looks and writes compare.
        let values = [(&self.number as _, Type::TEXT)];
        let row = self
            .client
            .query_typed_one(&complete(ENTER), &values)
            .await
            .map_err(failure)?;
        self.fingerprint = row.try_get(0).map_err(failure)?;
        self.tables = row.try_get(1).map_err(failure)?;
        Ok(())
    }

    async fn is_open(&mut self) -> bool {
        // The runtime looks whether the server has closed the connection meanwhile; then its task
        // does. Once for the task of the connection to see the end of the socket, once for it to
        // say so.
        yield_now().await;
        yield_now().await;
        !self.client.is_closed()
    }

    async fn has_same_tables(&mut self) -> Result<bool, DatabaseFailure> {
        let rows = self.execute_prepared(TABLES, &[]).await.map_err(failure)?;
        let tables = rows
            .first()
            .map(|row| row.try_get(0))
            .transpose()
            .map_err(failure)?;
        Ok(tables.is_some_and(|tables: String| tables == self.tables))
    }

    async fn ask(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<Vec<String>>, DatabaseFailure> {
        // The types go with the text, so it takes one round trip: statements that are asked once
        // for a connection are not worth preparing.
        let bound = |value: &SqlValue<'_>| -> (Box<dyn ToSql + Sync + '_>, Type) {
            match *value {
                SqlValue::Text(text) => (Box::new(text.to_owned()), Type::TEXT),
                // Below 2^63.
                SqlValue::Number(number) => (Box::new(number.cast_signed()), Type::INT8),
            }
        };
        let values: Vec<_> = values.iter().map(bound).collect();
        let values: Vec<_> = values
            .iter()
            .map(|(value, kind)| (&**value, kind.clone()))
            .collect();
        let rows = self
            .client
            .query_typed(&complete(statement), &values)
            .await
            .map_err(failure)?;
        let texts = |row: &Row| {
            let texts = (0..row.len()).map(|column| row.try_get::<_, Option<String>>(column));
            texts
                .map(|text| Ok(text.map_err(failure)?.unwrap_or_default()))
                .collect()
        };
        rows.first().map(texts).transpose()
    }

    async fn look(
        &mut self,
        keys: &[Keys],
    ) -> Result<(Option<ServerState>, TextsByKey), DatabaseFailure> {
        // One statement has one snapshot: the texts and the state are of one moment.
        let row = self.find(LOOK, keys, None).await?;
        let state = ServerState::of(row.try_get(3).map_err(failure)?, &self.number);
        let is_replaced = |state: &ServerState| state.has_changed_from(&self.fingerprint);
        if state.as_ref().is_some_and(is_replaced) {
            // An error of the connection: the read is repeated on a new one, which learns the new
            // fingerprint, and the rules begin a quarantine.
            let why = "the schema randflake was replaced meanwhile";
            return Err(DatabaseFailure::of_the_connection(
                EngineError::unavailable(why),
            ));
        }
        Ok((state, texts(&row)?))
    }

    async fn texts(
        &mut self,
        keys: &[Keys],
        most: Option<usize>,
    ) -> Result<TextsByKey, DatabaseFailure> {
        texts(&self.find(TEXTS, keys, most).await?)
    }

    async fn write(
        &mut self,
        write: &Write,
        update: Option<SingleUpdate<'_>>,
    ) -> Result<Option<i64>, DatabaseFailure> {
        // Decided from another session, before a failover: the server would be asked in vain.
        if write.fingerprint != self.fingerprint {
            return Ok(None);
        }
        let name = self.scope(write.entries.first().map(|entry| entry.key));
        let tables = self.tables.clone();
        let (from, to) = window(write);
        let number = self.number.clone();
        let head: [&(dyn ToSql + Sync); 4] = [&tables, &from, &to, &number];
        // The most frequent writes have statements of their own, which take less time: see
        // `statements`.
        let rows = if let Some(update) = update {
            let (kind, number) = place(update.key);
            let SingleUpdate {
                before,
                after,
                guard,
                ..
            } = update;
            let change: [&(dyn ToSql + Sync); 5] = [&kind, &number, &before, &after, &guard];
            let values = [&head[..], &change].concat();
            if update.upserts.is_empty() {
                self.execute(&name, CHANGE, &values)
                    .await
                    .map_err(failure)?
            } else {
                let (_, kinds, numbers, texts) = columns(update.upserts);
                let put: [&(dyn ToSql + Sync); 3] = [&kinds, &numbers, &texts];
                self.execute(&name, CHANGE_AND_PUT, &[&values[..], &put].concat())
                    .await
                    .map_err(failure)?
            }
        } else {
            let (entries, kinds, numbers, afters) = columns(&write.entries);
            let befores: Vec<_> = entries.iter().map(|entry| expected(entry)).collect();
            let blind: Vec<_> = entries
                .iter()
                .map(|entry: &&Entry| entry.before == Before::Anything)
                .collect();
            let put: [&(dyn ToSql + Sync); 5] = [&kinds, &numbers, &befores, &afters, &blind];
            self.execute(&name, PUT, &[&head[..], &put].concat())
                .await
                .map_err(failure)?
        };
        // No row, or `NULL`: something was not as expected, and nothing was written.
        let now = rows
            .first()
            .map(|row| row.try_get(0))
            .transpose()
            .map_err(failure)?;
        Ok(now.flatten())
    }

    async fn findings(&mut self) -> Result<Vec<Finding>, DatabaseFailure> {
        findings(self).await
    }
}

impl PostgresSession {
    /// The namespace of the rows of an operation, by its first key.
    fn scope(&self, first: Option<Key>) -> String {
        let own = &*self.namespace;
        first.map_or(own, |key| key.scope(own)).to_owned()
    }

    /// The one row of a statement that looks for some keys.
    async fn find(
        &mut self,
        statement: &'static str,
        keys: &[Keys],
        most: Option<usize>,
    ) -> Result<Row, DatabaseFailure> {
        // A claim, which is of no namespace, is read alone.
        let name = self.scope(keys.first().map(|keys| keys.bounds().0));
        let bounds = keys.iter().map(Keys::bounds);
        let (firsts, lasts): (Vec<_>, Vec<_>) = bounds.map(|(a, b)| (place(a), place(b))).unzip();
        let (kinds, firsts): (Vec<_>, Vec<_>) = firsts.into_iter().unzip();
        let lasts: Vec<_> = lasts.into_iter().map(|(_, number)| number).collect();
        // `LIMIT NULL` is no limit, so there is one statement for both.
        let most = most.and_then(|most| i64::try_from(most).ok());
        let mut rows = self
            .execute(&name, statement, &[&kinds, &firsts, &lasts, &most])
            .await
            .map_err(failure)?;
        rows.pop().ok_or_else(emptied)
    }

    /// Executes a statement on the namespace in one round trip; another one before its first use,
    /// so that the server reads and plans it once.
    async fn execute(
        &mut self,
        name: &str,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let name: [&(dyn ToSql + Sync); 1] = [&name];
        self.execute_prepared(statement, &[&name, values].concat())
            .await
    }

    async fn execute_prepared(
        &mut self,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        if let Some(known) = self.statements.get(statement) {
            return self.client.query(known, values).await;
        }
        let new = self.client.prepare(&complete(statement)).await?;
        let rows = self.client.query(&new, values).await;
        // Also after an error: the server has prepared it, and the next try may succeed.
        self.statements.insert(statement, new);
        rows
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        // Else the task would keep the socket open until the server closes it.
        self.driver.abort();
    }
}

/// Puts in the parts that a statement names, all of which stand in this program.
fn complete(statement: &'static str) -> String {
    PARTS.iter().fold(
        statement.to_owned(),
        |text: String, (name, part): &(&'static str, &'static str)| text.replace(name, part),
    )
}

/// Entries in one order, or two writes might wait for each other; their places, and what is put
/// there.
#[expect(
    clippy::type_complexity,
    reason = "columns of one list, each used once"
)]
fn columns(entries: &[Entry]) -> (Vec<&Entry>, Vec<i16>, Vec<i64>, Vec<Option<&str>>) {
    let mut entries: Vec<_> = entries.iter().collect();
    // The server locks rows in the order in which it meets them.
    entries.sort_unstable_by_key(|entry| entry.key);
    let places = entries.iter().map(|entry| place(entry.key));
    let (kinds, numbers) = places.unzip();
    let afters = entries.iter().map(|entry| entry.after.as_deref()).collect();
    (entries, kinds, numbers, afters)
}

/// Texts of a row, whose first columns are arrays of kinds, numbers and texts.
fn texts(row: &Row) -> Result<TextsByKey, DatabaseFailure> {
    let kinds = row.try_get::<_, Vec<i16>>(0).map_err(failure)?.into_iter();
    let places = kinds.zip(row.try_get::<_, Vec<i64>>(1).map_err(failure)?);
    let texts = places
        .zip(row.try_get::<_, Vec<String>>(2).map_err(failure)?)
        .map(|((kind, number), text)| Ok((key(kind, number)?, text)));
    texts.collect()
}

/// A key's kind and number, as the table has them.
fn place(key: Key) -> (i16, i64) {
    let (kind, number) = key.numbers();
    // Below 2^63.
    (kind.into(), number.cast_signed())
}

const QUESTION: &str = "
    SELECT 'PostgreSQL ' || current_setting('server_version'), s.setting
            || CASE WHEN s.setting <> s.reset_val THEN ' for the store, ' || s.reset_val || ' for others' ELSE '' END,
        current_setting('fsync'), current_setting('full_page_writes'), {fingerprint},
        current_setting('synchronous_standby_names')
    FROM pg_settings s WHERE s.name = 'synchronous_commit'";

pub(crate) async fn findings(
    session: &mut PostgresSession,
) -> Result<Vec<Finding>, DatabaseFailure> {
    let row = session.ask_for(QUESTION).await?;
    let [server, commit, fsync, pages, fingerprint, standbys] = row;
    let is_whole = pages == "on";
    let settings = [
        Finding::fine("synchronous_commit", commit),
        Finding::fine("fsync", fsync),
        whole_pages("full_page_writes", pages, is_whole),
    ];
    // Without a synchronous standby, a failover may lose the last answered leases.
    let failover = if standbys.is_empty() {
        let sentence =
            "a promoted standby begins in quarantine, but the former primary must be down before";
        Finding::caution("failover", "asynchronous", sentence)
    } else {
        Finding::fine("failover", format!("synchronous: {standbys}"))
    };
    Ok(Finding::of_a_store(
        server,
        randflake_sql::TABLES,
        settings,
        fingerprint,
        Some(failover),
    ))
}

impl Driver for Postgres {
    type Session = PostgresSession;

    const PLACE: &'static str = "the PostgreSQL server";

    fn of(location: &Location) -> Result<Self, StoreError> {
        let files = Files::asked_by(location)?;
        let mut config = Config::new();
        if let Some(user) = &location.user {
            config.user(user);
        }
        if let Some(password) = &location.password {
            config.password(password.as_bytes());
        }
        if let Some(database) = &location.database {
            config.dbname(database);
        }
        // What is preferred, and not checked, protects from nobody: it is all or nothing.
        config.ssl_mode(match files {
            Some(_) => SslMode::Require,
            None => SslMode::Disable,
        });
        let name = location.option("application_name");
        // So that an administrator sees in `pg_stat_activity` whose connection it is.
        config.application_name(name.unwrap_or("randflake"));
        if let Some(limit) = connect_timeout(location)? {
            config.connect_timeout(limit);
        }
        Ok(Self {
            config,
            expected: ExpectedPeer::all_of(location, Peer::Postgres, "PostgreSQL", files.is_some()),
            files,
            owner: location.option("owner").map(str::to_owned),
        })
    }

    fn expected(&self) -> &[ExpectedPeer] {
        &self.expected
    }
}

/// The longest time for each address, if the URL names one; the time for all of them has a limit of
/// its own.
pub(crate) fn connect_timeout(location: &Location) -> Result<Option<Duration>, StoreError> {
    let Some(text) = location.option("connect_timeout") else {
        return Ok(None);
    };
    let seconds: i32 = text.parse().map_err(|_| {
        location.refused("has a connect_timeout that is not a whole number of seconds")
    })?;
    // Zero and negative numbers are no limit, as in PostgreSQL's own clients.
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    Ok(seconds.map(Duration::from_secs))
}
