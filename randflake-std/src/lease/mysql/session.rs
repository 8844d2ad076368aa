//! A connection that was found fit.

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error as SqlError, Row};

use super::SharedClock;
use super::failure::{NO_SUCH_TABLE, is_one_of, of_login};
use super::sql::damaged;
use super::tls::Target;
use crate::lease::EngineError;
use crate::lease::database::{self, Failure, changed, check_version};
use crate::ledger::{VERSION, read_clock};

/// The server's clock, in microseconds.
const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', SYSDATE(6))";

/// It is used for one operation after the other; after an error of its own it is dropped.
pub(super) struct Session {
    connection: Conn,
    /// What the server must remember of this connection.
    pub(super) number: u32,
    /// As SQL, what the server is known by: its own number, or that by which replication tells servers apart; and the
    /// time at which a table's definition came onto its disk, another one on a replica and after a restore.
    pub(super) server: String,
    /// The locks by which others see who uses what.
    pub(super) marks: Vec<u8>,
    clock: Option<SharedClock>,
}

/// What the server says of one statement.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    pub(super) affected: u64,
    pub(super) last_insert_id: u64,
}

impl database::Session for Session {
    type Target = Target;

    async fn connect(target: &Target) -> Result<Self, Failure> {
        let connection = Conn::new(target.options()?).await;
        Ok(Self {
            connection: connection.map_err(|error| of_login(error, target.files.is_some()))?,
            number: getrandom::u32().map_err(EngineError::unavailable)?,
            server: String::new(),
            marks: Vec::new(),
            clock: target.clock.clone(),
        })
    }

    /// Makes the session independent of the server's settings, and trusts no table that was changed.
    async fn set_up(&mut self, _: &mut Target) -> Result<(), Failure> {
        let settings = format!(
            "SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00',
            sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
            innodb_lock_wait_timeout = 2, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,
            @randflake_session = {}",
            self.number
        );
        let answers = self
            .send(&[
                settings,
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE".to_owned(),
                "SHOW GLOBAL VARIABLES LIKE 'server_uuid'".to_owned(),
            ])
            .await?;
        // `MariaDB` has none.
        let has_uuid = answers.last().is_some_and(|answer| !answer.rows.is_empty());
        let server = if has_uuid { "server_uuid" } else { "server_id" };
        self.server = format!(
            "(SELECT CONCAT(@@{server}, '/', UNIX_TIMESTAMP(create_time)) FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store')"
        );
        self.check_tables().await?;
        if self.version().await?.is_none() {
            self.make_tables().await?;
            // Another user may have been quicker.
            self.check_tables().await?;
        }
        Ok(())
    }

    /// It is not known before the next statement.
    async fn is_open(&mut self) -> bool {
        true
    }

    /// A server that hears no goodbye counts the connection as aborted.
    async fn close(self) {
        // It may have gone already.
        _ = self.connection.disconnect().await;
    }
}

impl Session {
    /// The store's clock, as SQL.
    pub(super) fn clock(&self) -> Result<String, EngineError> {
        match &self.clock {
            None => Ok(CLOCK.to_owned()),
            Some(clock) => Ok(read_clock(&**clock)?.as_micros().to_string()),
        }
    }

    /// Refuses tables that no randflake has made, before any is read: a view runs functions with the rights of whoever
    /// looks, and a trigger changes what is written.
    async fn check_tables(&mut self) -> Result<(), Failure> {
        let triggers = "SELECT trigger_name FROM information_schema.triggers
            WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'randflake\\_%' LIMIT 1";
        let answers = self
            .send(&[r"SHOW TABLE STATUS LIKE 'randflake\_%'", triggers])
            .await?;
        for table in &answers[0].rows {
            let text = |column| table.get::<Option<String>, _>(column).flatten();
            if text(1).as_deref() != Some("InnoDB") {
                let name = text(0).unwrap_or_default();
                return Err(changed(&format!("{name:?} is no table of InnoDB")).into());
            }
        }
        if let Some((trigger,)) = answers[1].first::<(String,)>()? {
            return Err(changed(&format!("it has a trigger {trigger:?}")).into());
        }
        Ok(())
    }

    /// Makes the tables, unless they are there. One does; the others wait.
    async fn make_tables(&mut self) -> Result<(), Failure> {
        let lock = "SELECT COALESCE(GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15), 0)";
        if self.one::<(u8,)>(lock).await? != (1,) {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(EngineError::unavailable(why).into());
        }
        // If anything fails, the connection's end releases the lock.
        if self.version().await?.is_none() {
            let tables = include_str!("schema.sql").split("\n;\n");
            let tables: Vec<_> = tables.filter(|statement| !statement.is_empty()).collect();
            self.send(&tables).await?;
            let begin = format!(
                "INSERT INTO randflake_store SELECT 1, {VERSION}, FLOOR(RAND() * 9e18), {}",
                self.server
            );
            self.send(&[begin]).await?;
        }
        self.send(&["DO RELEASE_LOCK(MD5(CONCAT('randflake.', DATABASE())))"])
            .await?;
        Ok(())
    }

    /// That of the tables, if they are there.
    async fn version(&mut self) -> Result<Option<u64>, Failure> {
        let answers = match self.send(&["SELECT version FROM randflake_store"]).await {
            Err(error) if is_one_of(&error, &[NO_SUCH_TABLE]) => return Ok(None),
            answers => answers?,
        };
        let version = answers[0].first::<(u64,)>()?.map(|(version,)| version);
        version.map(check_version).transpose()?;
        Ok(version)
    }

    /// Sends statements at once, and gives as many answers.
    pub(super) async fn send(
        &mut self,
        statements: &[impl AsRef<str> + Sync],
    ) -> Result<Vec<Answer>, SqlError> {
        let statements: Vec<_> = statements.iter().map(AsRef::as_ref).collect();
        let mut result = self.connection.query_iter(statements.join(";")).await?;
        let mut answers = Vec::with_capacity(statements.len());
        for _ in statements {
            let last_insert_id = result.last_insert_id();
            let has_rows = !result.columns_ref().is_empty();
            answers.push(Answer {
                affected: if has_rows { 0 } else { result.affected_rows() },
                last_insert_id: last_insert_id.unwrap_or(0),
                rows: result.collect().await?,
            });
        }
        Ok(answers)
    }

    /// The one row of an answer.
    pub(super) async fn one<T: FromRow>(&mut self, question: &str) -> Result<T, Failure> {
        let answers = self.send(&[question]).await?;
        Ok(answers[0].first()?.ok_or_else(missing)?)
    }
}

impl Answer {
    /// Its first row.
    pub(super) fn first<T: FromRow>(&self) -> Result<Option<T>, EngineError> {
        self.rows.first().cloned().map(typed).transpose()
    }
}

/// An answer that should have a row.
pub(super) fn missing() -> EngineError {
    EngineError::unavailable("the tables of the lease store were emptied meanwhile")
}

/// A row of the types that it should have, unless somebody has edited the tables.
pub(super) fn typed<T: FromRow>(row: Row) -> Result<T, EngineError> {
    T::from_row_opt(row).map_err(|_| damaged())
}
