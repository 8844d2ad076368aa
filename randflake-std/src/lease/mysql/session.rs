//! A connection, and what it is asked.
//!
//! Statements are sent together, and answered together. All values stand in their text: a prepared statement would cost a
//! round trip more on each connection, and could be but one.

use std::sync::Arc;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error, Row};
use randflake_core::Clock;

use super::failure::of_login;
use super::statements::{self, CHANGED, CLOCK, DURABLE, LOCK, UNLOCK, hex, is_used, mark};
use super::{Mysql, diagnosis};
use crate::lease::database::{
    self, Failure, Only, Texts, changed, emptied, forgetful, key, pooled, time, window,
};
use crate::lease::{EngineError, Finding};
use crate::ledger::{Before, Continuity, Key, Keys, Reading, VERSION, Write, read_clock};

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
    pub(super) known: String,
    /// The locks by which others see who uses what.
    marks: Vec<Key>,
    clock: Option<Arc<dyn Clock + Send + Sync>>,
}

/// What the server says of one statement.
#[derive(Debug)]
pub(super) struct Answer {
    rows: Vec<Row>,
    affected: u64,
    last_insert_id: u64,
}

/// The clock, the session's number, what the server is known by, the row of the tables, `innodb_flush_log_at_trx_commit`,
/// `log_bin`, `sync_binlog` and `read_only`.
type Header = (
    i64,
    Option<u32>,
    Option<String>,
    String,
    u64,
    u32,
    bool,
    u32,
    String,
);

impl database::Session for Session {
    type Driver = Mysql;

    async fn connect(mysql: &Mysql, namespace: &str) -> Result<Self, Failure> {
        let connection = Conn::new(mysql.options()?).await;
        Ok(Self {
            connection: connection.map_err(|error| of_login(error, mysql.files.is_some()))?,
            namespace: namespace.to_owned(),
            number: getrandom::u32().map_err(EngineError::unavailable)?,
            known: String::new(),
            marks: Vec::new(),
            clock: mysql.clock.clone(),
        })
    }

    async fn prepare(&mut self) -> Result<(), Failure> {
        let settings = format!(
            "SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00',
            sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
            innodb_lock_wait_timeout = 2, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,
            @randflake_session = {}",
            self.number
        );
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";
        let uuid = "SHOW GLOBAL VARIABLES LIKE 'server_uuid'";
        let answers = self.send(&[&settings, isolation, uuid]).await?;
        // `MariaDB` has none.
        let has_uuid = answers.last().is_some_and(|answer| !answer.rows.is_empty());
        let server = if has_uuid { "server_uuid" } else { "server_id" };
        self.known = format!(
            "(SELECT CONCAT(@@{server}, '/', UNIX_TIMESTAMP(create_time)) FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store')"
        );
        Ok(())
    }

    async fn check(&mut self, _: &Mysql) -> Result<(), Failure> {
        let answers = self.send(&[CHANGED]).await?;
        let how = answers[0].first::<(String,)>()?;
        how.map_or(Ok(()), |(how,)| Err(changed(&how).into()))
    }

    async fn version(&mut self) -> Result<Option<u64>, Failure> {
        let question = "SELECT version FROM randflake_store";
        let answers = self.send(&[question]).await?;
        Ok(answers[0].first()?.map(|(version,)| version))
    }

    /// If anything fails, the connection's end releases the lock.
    async fn make(&mut self) -> Result<(), Failure> {
        if self.one::<(u8,)>(LOCK).await? != (1,) {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(EngineError::unavailable(why).into());
        }
        let begin = format!(
            "INSERT INTO randflake_store VALUES (1, {VERSION}, FLOOR(RAND() * 9e18), {})
            ON DUPLICATE KEY UPDATE only_row = 1",
            self.known
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

    async fn look(&mut self, keys: &[Keys]) -> Result<Reading, Failure> {
        let mut statements = vec![statements::header(&self.clock()?, &self.known)];
        statements.extend(statements::read(&self.namespace, keys, None));
        let mut answers = self.send(&statements).await?.into_iter();
        let header: Option<Header> = answers.next().map_or(Ok(None), |answer| answer.first())?;
        let (unix_us, number, known, original, id, flushes, has_log, syncs, read_only) =
            header.ok_or_else(emptied)?;
        if number != Some(self.number) {
            return Err(Failure::of_the_connection(pooled()));
        }
        if read_only != "0" && read_only != "OFF" {
            let why = "the server is read-only, as replicas are, and cannot grant anything";
            return Err(EngineError::unavailable(why).into());
        }
        let known = known.ok_or_else(emptied)?;
        Ok(Reading {
            now: time(unix_us),
            texts: texts(answers)?,
            continuity: Continuity {
                fingerprint: format!("{known}/{id}"),
                is_absence_certain: known == original,
                known_end_unix_ms: 0,
                fault: fault(flushes, has_log, syncs),
            },
        })
    }

    async fn texts(&mut self, keys: &[Keys], most: Option<usize>) -> Result<Texts, Failure> {
        let statements = statements::read(&self.namespace, keys, most);
        Ok(texts(self.send(&statements).await?)?)
    }

    async fn is_used(&mut self, missing: &[Key]) -> Result<bool, Failure> {
        let (is_used,) = self.one(&is_used(&self.namespace, missing)).await?;
        Ok(is_used)
    }

    async fn write(
        &mut self,
        write: &Write,
        only: Option<Only<'_>>,
    ) -> Result<Option<i64>, Failure> {
        let clock = self.clock()?;
        let mut statements = self.marks(write);
        if let Some(only) = only {
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
        let now = answers.iter().find_map(|answer| answer.first().transpose());
        Ok(now.transpose()?.map(|(now,): (i64,)| now))
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
    pub(super) async fn send(
        &mut self,
        statements: &[impl AsRef<str> + Sync],
    ) -> Result<Vec<Answer>, Error> {
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

    /// The one row of an answer.
    pub(super) async fn one<T: FromRow>(&mut self, question: &str) -> Result<T, Failure> {
        let answers = self.send(&[question]).await?;
        Ok(answers[0].first()?.ok_or_else(emptied)?)
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

    /// The statements by which others see until its end that this connection uses what is there, if they are needed.
    fn marks(&mut self, write: &Write) -> Vec<String> {
        let is_there = |before: &Before| matches!(before, Before::Text(_));
        let there = write.entries.iter().filter(|entry| is_there(&entry.before));
        let used = there.map(|entry| entry.key);
        let new = used.filter(|key| matches!(key, Key::Namespace | Key::Counter));
        let new: Vec<_> = new.filter(|key| !self.marks.contains(key)).collect();
        self.marks.extend(&new);
        let marks = new
            .into_iter()
            .map(|key| mark(&self.namespace, key, "CONNECTION_ID()"));
        marks
            .map(|mark| format!("DO GET_LOCK({mark}, 0)"))
            .collect()
    }
}

fn texts(answers: impl IntoIterator<Item = Answer>) -> Result<Texts, EngineError> {
    let rows = answers.into_iter().flat_map(|answer| answer.rows);
    let texts = rows.map(|row| {
        let (kind, number, value): (u8, u32, Vec<u8>) = typed(row)?;
        let text = String::from_utf8(value).map_err(|_| damaged())?;
        Ok((key(kind, number)?, text))
    });
    texts.collect()
}

/// The setting by which answered writes are lost. In a recovery, what the engine has prepared and the binary log does not
/// have is rolled back.
fn fault(flushes: u32, has_log: bool, syncs: u32) -> Option<String> {
    let (log, setting, value) = match (flushes, has_log, syncs) {
        (1, false, _) | (1, true, 1) => return None,
        (1, true, _) => ("log_bin and ", "sync_binlog", syncs),
        _ => ("", "innodb_flush_log_at_trx_commit", flushes),
    };
    let settings = format!("{log}{setting}={value}");
    Some(forgetful(
        "MySQL",
        &settings,
        &format!("set {setting} to 1"),
    ))
}

impl Answer {
    /// Its first row.
    fn first<T: FromRow>(&self) -> Result<Option<T>, EngineError> {
        self.rows.first().cloned().map(typed).transpose()
    }
}

/// A row of the types that it should have, unless somebody has edited the tables.
fn typed<T: FromRow>(row: Row) -> Result<T, EngineError> {
    T::from_row_opt(row).map_err(|_| damaged())
}

fn damaged() -> EngineError {
    EngineError::unusable("the lease store was damaged")
}
