//! A connection, and what it is asked.

use std::collections::BTreeMap;

use tokio::task::{JoinHandle, yield_now};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, SimpleQueryMessage, SimpleQueryRow, Statement};

use super::rights::CHECK;
use super::statements::{CHANGE, CHANGE_AND_PUT, ENTER, LOOK, PARTS, PUT, SETTINGS, TEXTS};
use super::tls::connect;
use super::{Postgres, diagnosis};
use crate::lease::database::{self, Failure, Only, State, Texts, emptied, expected, key, window};
use crate::lease::{EngineError, Finding};
use crate::ledger::{Before, Entry, Key, Keys, Write};

/// A connection that was found fit, and the store behind it.
#[derive(Debug)]
pub(in crate::lease) struct Session {
    client: Client,
    driver: JoinHandle<()>,
    namespace: String,
    /// By their text before it was completed.
    statements: BTreeMap<&'static str, Statement>,
    /// Tells it from others that a pooler may put in its place.
    number: u64,
    /// Of the server and the tables.
    fingerprint: String,
    /// Of the tables alone.
    tables: String,
}

impl database::Session for Session {
    type Driver = Postgres;

    const CHECK: &'static str = CHECK;
    const VERSION: &'static str = "SELECT version FROM randflake.store";
    const RECORDS: &'static str = "randflake.record";

    async fn connect(postgres: &Postgres, namespace: &str) -> Result<Self, Failure> {
        let (client, driver) = connect(&postgres.config, postgres.files.as_ref()).await?;
        Ok(Self {
            client,
            driver,
            namespace: namespace.to_owned(),
            statements: BTreeMap::new(),
            number: getrandom::u64().map_err(EngineError::unavailable)?,
            fingerprint: String::new(),
            tables: String::new(),
        })
    }

    async fn prepare(&mut self, postgres: &Postgres) -> Result<(), Failure> {
        // As a string with escapes, which is read alike whatever the server's settings are.
        let owner = postgres.owner.as_deref().unwrap_or_default();
        let owner = owner.replace('\\', r"\\").replace('\'', "''");
        let settings = SETTINGS.replace("{owner}", &owner);
        let [is_in_recovery] = self.ask_for(&settings).await?;
        if is_in_recovery == "t" {
            let why = "the server is a standby, which cannot grant anything";
            return Err(EngineError::unavailable(why).into());
        }
        Ok(())
    }

    async fn make(&mut self) -> Result<(), Failure> {
        self.ask(include_str!("schema.sql")).await.map(drop)
    }

    async fn enter(&mut self) -> Result<(), Failure> {
        [self.fingerprint, self.tables] = self.ask_for(ENTER).await?;
        Ok(())
    }

    async fn is_open(&mut self) -> bool {
        // The runtime looks whether the server has closed the connection meanwhile; then its task does.
        yield_now().await;
        yield_now().await;
        !self.client.is_closed()
    }

    async fn ask(&mut self, question: &str) -> Result<Option<Vec<String>>, Failure> {
        let answer = self.client.simple_query(&self.complete(question)).await?;
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let texts = |row: &SimpleQueryRow| {
            let texts = (0..row.len()).map(|column| row.get(column).unwrap_or_default());
            texts.map(str::to_owned).collect()
        };
        Ok(row.map(texts))
    }

    async fn look(&mut self, keys: &[Keys]) -> Result<(State, Texts), Failure> {
        let row = self.find(LOOK, keys, None).await?;
        let state: Vec<String> = row.try_get(3)?;
        if state[1] == "1" && format!("{}/{}", state[2], state[3]) != self.fingerprint {
            let why = "the schema randflake was replaced meanwhile";
            return Err(Failure::of_the_connection(EngineError::unavailable(why)));
        }
        Ok((Some(state), texts(&row)?))
    }

    async fn texts(&mut self, keys: &[Keys], most: Option<usize>) -> Result<Texts, Failure> {
        texts(&self.find(TEXTS, keys, most).await?)
    }

    async fn write(
        &mut self,
        write: &Write,
        only: Option<Only<'_>>,
    ) -> Result<Option<i64>, Failure> {
        if write.fingerprint != self.fingerprint {
            return Ok(None);
        }
        let tables = self.tables.clone();
        let (from, to) = window(write);
        let head: [&(dyn ToSql + Sync); 3] = [&tables, &from, &to];
        let rows = if let Some(only) = only {
            let (kind, number) = place(only.key);
            let Only {
                before,
                after,
                kept,
                ..
            } = only;
            let change: [&(dyn ToSql + Sync); 5] = [&kind, &number, &before, &after, &kept];
            let values = [&head[..], &change].concat();
            if only.beside.is_empty() {
                self.execute(CHANGE, &values).await?
            } else {
                let (_, kinds, numbers, texts) = columns(only.beside);
                let put: [&(dyn ToSql + Sync); 3] = [&kinds, &numbers, &texts];
                self.execute(CHANGE_AND_PUT, &[&values[..], &put].concat())
                    .await?
            }
        } else {
            let (entries, kinds, numbers, afters) = columns(&write.entries);
            let befores: Vec<_> = entries.iter().map(|entry| expected(entry)).collect();
            let is_blind = |entry: &&Entry| entry.before == Before::Anything;
            let blind: Vec<_> = entries.iter().map(is_blind).collect();
            let put: [&(dyn ToSql + Sync); 5] = [&kinds, &numbers, &befores, &afters, &blind];
            self.execute(PUT, &[&head[..], &put].concat()).await?
        };
        let now = rows.first().map(|row| row.try_get(0)).transpose()?;
        Ok(now.flatten())
    }

    async fn findings(&mut self) -> Result<Vec<Finding>, Failure> {
        diagnosis::findings(self).await
    }
}

impl Session {
    fn complete(&self, statement: &str) -> String {
        let put = |text: String, (name, part): &(&str, &str)| text.replace(name, part);
        let text = PARTS.iter().fold(statement.to_owned(), put);
        text.replace("{session}", &self.number.to_string())
    }

    /// The one row of a statement that looks for some keys.
    async fn find(
        &mut self,
        statement: &'static str,
        keys: &[Keys],
        most: Option<usize>,
    ) -> Result<Row, Failure> {
        let bounds = keys.iter().map(Keys::bounds);
        let (firsts, lasts): (Vec<_>, Vec<_>) = bounds.map(|(a, b)| (place(a), place(b))).unzip();
        let (kinds, firsts): (Vec<_>, Vec<_>) = firsts.into_iter().unzip();
        let lasts: Vec<_> = lasts.into_iter().map(|(_, number)| number).collect();
        let most = most.and_then(|most| i64::try_from(most).ok());
        let mut rows = self
            .execute(statement, &[&kinds, &firsts, &lasts, &most])
            .await?;
        Ok(rows.pop().ok_or_else(emptied)?)
    }

    /// Executes a statement on the namespace in one round trip; another one before its first use, so that the server
    /// reads and plans it once.
    async fn execute(
        &mut self,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let namespace: [&(dyn ToSql + Sync); 1] = [&self.namespace];
        let values = [&namespace, values].concat();
        if let Some(known) = self.statements.get(statement) {
            return self.client.query(known, &values).await;
        }
        let new = self.client.prepare(&self.complete(statement)).await?;
        let rows = self.client.query(&new, &values).await;
        self.statements.insert(statement, new);
        rows
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Entries in one order, or two writes might wait for each other; their places, and what is put there.
#[expect(
    clippy::type_complexity,
    reason = "columns of one list, each used once"
)]
fn columns(entries: &[Entry]) -> (Vec<&Entry>, Vec<i16>, Vec<i64>, Vec<Option<&str>>) {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|entry| entry.key);
    let places = entries.iter().map(|entry| place(entry.key));
    let (kinds, numbers) = places.unzip();
    let afters = entries.iter().map(|entry| entry.after.as_deref());
    let afters = afters.collect();
    (entries, kinds, numbers, afters)
}

/// Those of a row, whose first columns are arrays of kinds, numbers and texts.
fn texts(row: &Row) -> Result<Texts, Failure> {
    let kinds = row.try_get::<_, Vec<i16>>(0)?.into_iter();
    let places = kinds.zip(row.try_get::<_, Vec<i64>>(1)?);
    let texts = places.zip(row.try_get::<_, Vec<String>>(2)?);
    let texts = texts.map(|((kind, number), text)| Ok((key(kind, number)?, text)));
    texts.collect()
}

/// A key's kind and number, as the table has them.
fn place(key: Key) -> (i16, i64) {
    let (kind, number) = key.numbers();
    // Below 2^48.
    (kind.into(), number.cast_signed())
}
