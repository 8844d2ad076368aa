//! A connection, and what it is asked.
//!
//! Statements are sent together, and answered together. All values stand in their text: a prepared statement would cost a
//! round trip more on each connection, and could be but one.

use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Row, from_row_opt};
use randflake_core::Clock;

use super::failure::of_login;
use super::statements::{self, CHECK, CLOCK, DURABLE, LOCK, UNLOCK, hex};
use super::{Mysql, diagnosis};
use crate::lease::database::{self, Failure, Only, State, Texts, key, window};
use crate::lease::{EngineError, Finding};
use crate::ledger::{Keys, VERSION, Write, read_clock};

/// How long a packet may become before it is sent.
const PACKET: usize = 1 << 20;

/// A connection that was found fit.
pub(in crate::lease) struct Session {
    connection: Conn,
    namespace: String,
    /// What the server must remember of this connection.
    number: u32,
    /// As SQL, what the server is known by: its own number, or that by which replication tells servers apart; and the
    /// time at which a table's definition came onto its disk, another one on a replica and after a restore.
    known: String,
    clock: Option<Arc<dyn Clock + Send + Sync>>,
}

/// What the server says of one statement.
#[derive(Debug)]
struct Answer {
    rows: Vec<Row>,
    affected: u64,
    last_insert_id: u64,
}

impl database::Session for Session {
    type Driver = Mysql;

    const CHECK: &'static str = CHECK;
    const VERSION: &'static str = "SELECT version FROM randflake_store";
    const RECORDS: &'static str = "randflake_record";

    async fn connect(mysql: &Mysql, namespace: &str) -> Result<Self, Failure> {
        let connection = Conn::new(mysql.options()?).await;
        Ok(Self {
            connection: connection.map_err(|error| of_login(error, mysql.files.is_some()))?,
            namespace: namespace.to_owned(),
            number: getrandom::u32().map_err(EngineError::unavailable)?,
            known: String::new(),
            clock: mysql.clock.clone(),
        })
    }

    async fn prepare(&mut self, _: &Mysql) -> Result<(), Failure> {
        let settings = format!(
            "SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00',
            sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
            innodb_lock_wait_timeout = 2, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,
            @randflake_session = {}",
            self.number
        );
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";
        let uuid = "SHOW GLOBAL VARIABLES LIKE 'server_uuid'";
        let answers = self.send(&[settings.as_str(), isolation, uuid]).await?;
        // `MariaDB` has none.
        let has_uuid = answers.last().is_some_and(|answer| !answer.rows.is_empty());
        let server = if has_uuid { "server_uuid" } else { "server_id" };
        self.known = format!(
            "(SELECT CONCAT(@@{server}, '/', UNIX_TIMESTAMP(create_time)) FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store')"
        );
        Ok(())
    }

    /// If anything fails, the connection's end releases the lock.
    async fn make(&mut self) -> Result<(), Failure> {
        let [is_held] = self.ask_for(LOCK).await?;
        if is_held != "1" {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(EngineError::unavailable(why).into());
        }
        let begin = format!(
            "INSERT INTO randflake_store VALUES (1, {VERSION}, FLOOR(RAND() * 9e18))
            ON DUPLICATE KEY UPDATE only_row = 1"
        );
        let tables = include_str!("schema.sql").split("\n;\n");
        let tables = tables.filter(|statement| !statement.is_empty());
        let statements: Vec<_> = tables.chain([&*begin, UNLOCK]).collect();
        self.send(&statements).await?;
        Ok(())
    }

    /// A server that hears no goodbye counts the connection as aborted.
    async fn close(self) {
        // It may have gone already.
        _ = self.connection.disconnect().await;
    }

    async fn ask(&mut self, question: &str) -> Result<Option<Vec<String>>, Failure> {
        let question = question.replace("{known}", &self.known);
        Ok(self.send(&[question]).await?[0].first())
    }

    async fn look(&mut self, keys: &[Keys]) -> Result<(State, Texts), Failure> {
        let state = statements::state(&self.clock()?, self.number, &self.known);
        let mut statements = statements::read(&self.namespace, keys, None);
        statements.insert(0, state);
        let mut answers = self.send(&statements).await?.into_iter();
        let mut state = answers.next().and_then(|answer| answer.first());
        let read_only = state.as_mut().and_then(Vec::pop);
        if read_only.is_some_and(|value| value != "0" && value != "OFF") {
            let why = "the server is read-only, as replicas are, and cannot grant anything";
            return Err(EngineError::unavailable(why).into());
        }
        Ok((state, texts(answers)?))
    }

    async fn texts(&mut self, keys: &[Keys], most: Option<usize>) -> Result<Texts, Failure> {
        let statements = statements::read(&self.namespace, keys, most);
        Ok(texts(self.send(&statements).await?)?)
    }

    async fn write(
        &mut self,
        write: &Write,
        only: Option<Only<'_>>,
    ) -> Result<Option<i64>, Failure> {
        let clock = self.clock()?;
        let mut statements = Vec::new();
        if let Some(only) = only.filter(|only| only.beside.is_empty()) {
            // What `LAST_INSERT_ID` is given comes with the answer.
            let may = self.may(write, &format!("LAST_INSERT_ID({clock})"));
            statements.push(statements::update(&self.namespace, &only, &may));
            let answers = self.send(&statements).await?;
            let written = answers.last().filter(|written| written.affected == 1);
            return Ok(written.and_then(|written| written.last_insert_id.try_into().ok()));
        }
        let may = self.may(write, "@randflake_now");
        statements.extend(statements::transaction(
            &self.namespace,
            write,
            &clock,
            &may,
        ));
        let answers = self.send(&statements).await?;
        let now = answers.iter().find_map(Answer::first);
        Ok(now.and_then(|now| now.concat().parse().ok()))
    }

    async fn roll_back(&mut self) -> Result<(), Failure> {
        self.send(&["ROLLBACK"]).await?;
        Ok(())
    }

    async fn findings(&mut self) -> Result<Vec<Finding>, Failure> {
        diagnosis::findings(self).await
    }
}

impl Session {
    /// Sends statements in as few packets as may be, and gives as many answers.
    async fn send(&mut self, statements: &[impl AsRef<str> + Sync]) -> Result<Vec<Answer>, Error> {
        let mut rest: Vec<_> = statements.iter().map(AsRef::as_ref).collect();
        let mut answers = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let mut len = 0;
            let fits = rest.iter().take_while(|statement| {
                let is_first = len == 0;
                len += statement.len();
                is_first || len <= PACKET
            });
            let later = rest.split_off(fits.count());
            let mut result = self.connection.query_iter(rest.join(";")).await?;
            for _ in rest {
                let last_insert_id = result.last_insert_id();
                let has_rows = !result.columns_ref().is_empty();
                answers.push(Answer {
                    affected: if has_rows { 0 } else { result.affected_rows() },
                    last_insert_id: last_insert_id.unwrap_or(0),
                    rows: result.collect().await?,
                });
            }
            rest = later;
        }
        Ok(answers)
    }

    /// The store's clock, as SQL.
    fn clock(&self) -> Result<String, EngineError> {
        match &self.clock {
            None => Ok(CLOCK.to_owned()),
            Some(clock) => Ok(read_clock(&**clock)?.as_micros().to_string()),
        }
    }

    /// As SQL, whether this session and the server are those that a write was decided for, at a time.
    fn may(&self, write: &Write, now: &str) -> String {
        let Self { number, known, .. } = self;
        let fingerprint = hex(write.fingerprint.as_bytes());
        let (from, to) = window(write);
        format!(
            "@randflake_session = {number} AND {DURABLE} AND {now} BETWEEN {from} AND {to}
            AND (SELECT CONCAT({known}, '/', id) FROM randflake_store) = {fingerprint}"
        )
    }
}

fn texts(answers: impl IntoIterator<Item = Answer>) -> Result<Texts, EngineError> {
    let rows = answers.into_iter().flat_map(|answer| answer.rows);
    let texts = rows.map(|row| {
        let record = from_row_opt::<(u8, u64, String)>(row);
        let damaged = |_| EngineError::unusable("the lease store was damaged");
        let (kind, number, text) = record.map_err(damaged)?;
        Ok((key(kind, number)?, text))
    });
    texts.collect()
}

impl Answer {
    /// Its first row, with nothing for `NULL`.
    fn first(&self) -> Option<Vec<String>> {
        let row = self.rows.first()?;
        let texts = (0..row.len()).map(|column| row.get_opt(column)?.ok().flatten());
        Some(texts.map(Option::unwrap_or_default).collect())
    }
}
