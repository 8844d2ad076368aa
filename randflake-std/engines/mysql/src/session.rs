//! One MySQL session: reads and conditional writes.
//!
//! Statements are sent together, and answered together. Their values are [bound](super::sql) here:
//! a prepared statement would cost a round trip more on each connection, and could be but one.

use core::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use crate::failure::{failure, of_login};
use mysql_async::prelude::Queryable;
use mysql_async::{
    Conn, Error, IoError, Opts, OptsBuilder, QueryResult, Row, TextProtocol, Value, from_row_opt,
};
use randflake_core::Clock;

use super::server;
use super::server::{FixedSettings, MarkedState};
use super::sql::Sql;
use super::statements::{self, CHECK, CLOCK, LOCK, NAMESPACE, NEXT_NAMESPACE, REMOVE, UNLOCK};
use randflake_lease::unstable::engine::{Keys, Write, read_clock};
use randflake_lease::unstable::net::{Attempt, ExpectedPeer, LARGEST_REPLY, Peer, too_long};
use randflake_lease::unstable::tls::Files;
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Finding, StoreError};
use randflake_sql::{
    self, DatabaseFailure, Driver, ServerState, SingleUpdate, SqlValue, TABLES, TextsByKey,
    emptied, key, whole_pages, window,
};

/// How long a packet may become before it is sent.
const PACKET: usize = 1 << 20;

/// A connection that was found fit.
pub(crate) struct MysqlSession {
    connection: Conn,
    namespace: String,
    /// Random number in the variable `@randflake_session`: no other session of the server has it.
    number: u64,
    pub(crate) fixed: FixedSettings,
    clock: Option<Arc<dyn Clock + Send + Sync>>,
    /// The number of the tables as they were when the session began.
    id: Vec<String>,
}

/// What the server says of one statement.
#[derive(Debug)]
struct StatementAnswer {
    rows: Vec<Row>,
    affected: u64,
    last_insert_id: u64,
}

impl randflake_sql::DatabaseSession for MysqlSession {
    type Driver = Mysql;

    const VERSION: &'static str = "SELECT version FROM randflake_store";
    const NAMESPACE: &'static str = NAMESPACE;
    const NEXT_NAMESPACE: &'static str = NEXT_NAMESPACE;
    const REMOVE: &'static str = REMOVE;

    async fn connect(
        mysql: &Mysql,
        attempt: &Attempt,
        namespace: &str,
    ) -> Result<Self, DatabaseFailure> {
        Ok(Self {
            connection: mysql.connect(attempt).await?,
            namespace: namespace.to_owned(),
            number: getrandom::u32().map_err(EngineError::unavailable)?.into(),
            // Until `prepare` has asked for them.
            fixed: FixedSettings::of([]),
            clock: mysql.clock.clone(),
            id: Vec::new(),
        })
    }

    async fn prepare(&mut self, _: &Mysql) -> Result<(), DatabaseFailure> {
        // `autocommit` and `completion_type` make each statement end its transaction; the time zone
        // is that of `TIMESTAMPDIFF`; a strict mode refuses what it would cut; a wait for a lock
        // ends before the client's; limits that are set for people (`sql_safe_updates`,
        // `sql_select_limit`) would change what statements mean. The number 0 is no automatic one,
        // and the next one is by 1 higher than the last, also after a restart; `MySQL` would show
        // the one of the day before (`information_schema_stats_expiry`, in a comment that only it
        // reads).
        let settings = Sql::new(
            "SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00',
            sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO',
            auto_increment_increment = 1, auto_increment_offset = 1, /*!80000 information_schema_stats_expiry = 0, */
            innodb_lock_wait_timeout = 2, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,
            @randflake_session = ?",
            &[SqlValue::Number(self.number)],
        );
        // Under the default `REPEATABLE READ` gaps between rows are locked, and two acquires wait
        // for each other.
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";
        // All of it in one round trip: connections are made under load too.
        let others = [isolation, FixedSettings::QUESTION].map(|statement| Sql::new(statement, &[]));
        let answers = self.send(&[&[settings][..], &others].concat()).await?;
        let rows = answers.last().into_iter().flat_map(|answer| &answer.rows);
        self.fixed = FixedSettings::of(rows.map(texts_of));
        Ok(())
    }

    async fn distrust(&mut self) -> Result<Option<String>, DatabaseFailure> {
        let row = self.ask(CHECK, &[]).await?;
        Ok(row.map(|row| row.concat()))
    }

    async fn enter(&mut self) -> Result<(), DatabaseFailure> {
        self.id = self.ask(statements::ID, &[]).await?.unwrap_or_default();
        Ok(())
    }

    /// If anything fails, the connection's end releases the lock.
    async fn make(&mut self) -> Result<(), DatabaseFailure> {
        // A lock by name: `CREATE TABLE` commits at once, so a transaction cannot keep others out.
        let [is_held] = self.ask_for(LOCK).await?;
        if is_held != "1" {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(EngineError::unavailable(why).into());
        }
        // Of two that make the tables, the second keeps the number of the first.
        let begin = Sql::new(
            "INSERT INTO randflake_store VALUES (1, ?, FLOOR(RAND() * 9e18), '') ON DUPLICATE KEY UPDATE only_row = 1",
            &[SqlValue::Number(TABLES)],
        );
        let tables = include_str!("schema.sql")
            .split("\n;\n")
            .filter(|statement| !statement.is_empty())
            .map(|statement| Sql::new(statement, &[]));
        let statements: Vec<_> = tables.chain([begin, Sql::new(UNLOCK, &[])]).collect();
        self.send(&statements).await?;
        Ok(())
    }

    async fn has_same_tables(&mut self) -> Result<bool, DatabaseFailure> {
        Ok(self.ask(statements::ID, &[]).await?.unwrap_or_default() == self.id)
    }

    /// A server that hears no goodbye counts the connection as aborted.
    async fn close(self) {
        // It may have gone already.
        _ = self.connection.disconnect().await;
    }

    async fn ask(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<Vec<String>>, DatabaseFailure> {
        self.row(Sql::new(statement, values)).await
    }

    async fn look(
        &mut self,
        keys: &[Keys],
    ) -> Result<(Option<ServerState>, TextsByKey), DatabaseFailure> {
        let (found, texts) = self.look_once(keys).await?;
        if found.as_ref().is_none_or(|found| found.is_marked) {
            return Ok((found.map(|found| found.state), texts));
        }
        if let Err(error) = self.mark().await {
            // Its transaction may still be open.
            _ = self.roll_back().await;
            return Err(error);
        }
        let (found, texts) = self.look_once(keys).await?;
        Ok((found.map(|found| found.state), texts))
    }

    async fn texts(
        &mut self,
        keys: &[Keys],
        most: Option<usize>,
    ) -> Result<TextsByKey, DatabaseFailure> {
        let statements = statements::read(self.scope(keys), keys, most);
        Ok(texts(self.send(&statements).await?)?)
    }

    async fn write(
        &mut self,
        write: &Write,
        update: Option<SingleUpdate<'_>>,
    ) -> Result<Option<i64>, DatabaseFailure> {
        if self.fixed.unsynced.is_some() {
            // The look that follows says so.
            return Ok(None);
        }
        let clock = self.clock()?;
        let mut statements = Vec::new();
        if let Some(update) = update.filter(|update| update.upserts.is_empty()) {
            // What `LAST_INSERT_ID` is given comes with the answer.
            let may = self.may(
                write,
                &Sql::new("LAST_INSERT_ID(", &[]).then(&clock).with(")", &[]),
            );
            statements.push(statements::update(&self.namespace, &update, &may));
            let answers = self.send(&statements).await?;
            // `client_found_rows` lets it count rows that are found, not rows whose text changes.
            // The count decides: `LAST_INSERT_ID` may be set by a row that then does not match.
            let written = answers.last().filter(|written| written.affected == 1);
            return Ok(written.and_then(|written| written.last_insert_id.try_into().ok()));
        }
        let may = self.may(write, &Sql::new("@randflake_now", &[]));
        let first = write.entries.first();
        // A claim, which is of no namespace, is written alone: so the first key speaks for all.
        let name = first.map_or(&*self.namespace, |entry| entry.key.scope(&self.namespace));
        statements.extend(statements::transaction(name, write, &clock, &may));
        let answers = self.send(&statements).await?;
        let now = answers.iter().find_map(StatementAnswer::first);
        Ok(now.and_then(|now| now.concat().parse().ok()))
    }

    async fn roll_back(&mut self) -> Result<(), DatabaseFailure> {
        self.send(&[Sql::new("ROLLBACK", &[])]).await?;
        Ok(())
    }

    async fn findings(&mut self) -> Result<Vec<Finding>, DatabaseFailure> {
        findings(self).await
    }
}

impl MysqlSession {
    /// Sends statements in as few packets as may be, and gives as many answers.
    async fn send(&mut self, statements: &[Sql]) -> Result<Vec<StatementAnswer>, DatabaseFailure> {
        let mut rest: Vec<_> = statements.iter().map(AsRef::as_ref).collect();
        let mut answers = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let mut len = 0;
            let fits = rest.iter().take_while(|statement| {
                let is_first = len == 0;
                len += statement.len();
                is_first || len <= PACKET
            });
            // A packet above `max_allowed_packet` (16 MiB on MariaDB unless set) ends the
            // connection.
            let later = rest.split_off(fits.count());
            // The first statement that fails ends the batch, so all later ones are not executed.
            let mut result = self
                .connection
                .query_iter(rest.join(";"))
                .await
                .map_err(failure)?;
            for _ in rest {
                // Before `collect`, which goes on to the answer of the next statement.
                let last_insert_id = result.last_insert_id();
                let has_rows = !result.columns_ref().is_empty();
                answers.push(StatementAnswer {
                    affected: if has_rows { 0 } else { result.affected_rows() },
                    last_insert_id: last_insert_id.unwrap_or(0),
                    rows: rows(&mut result).await.map_err(failure)?,
                });
            }
            rest = later;
        }
        Ok(answers)
    }

    /// Reads the texts of some keys and the state of the server.
    async fn look_once(
        &mut self,
        keys: &[Keys],
    ) -> Result<(Option<MarkedState>, TextsByKey), DatabaseFailure> {
        let state = statements::state(&self.clock()?, self.number, self.fixed.known);
        let mut statements = statements::read(self.scope(keys), keys, None);
        // One after the other, not at one moment: a write compares state and texts once more.
        statements.insert(0, state);
        let mut answers = self.send(&statements).await?.into_iter();
        let columns = answers.next().and_then(|answer| answer.first());
        let found = self.fixed.state(columns)?;
        Ok((found, texts(answers)?))
    }

    /// Marks the table of records, after it or the server has become another one.
    async fn mark(&mut self) -> Result<(), DatabaseFailure> {
        let random = getrandom::u64().map_err(EngineError::unavailable)?;
        self.send(&statements::mark(self.fixed.known, random))
            .await?;
        Ok(())
    }

    /// The namespace of the rows of some keys, by the first.
    fn scope(&self, keys: &[Keys]) -> &str {
        let own = &*self.namespace;
        keys.first().map_or(own, |keys| keys.bounds().0.scope(own))
    }

    /// The first row of an answer.
    pub(crate) async fn row(
        &mut self,
        statement: Sql,
    ) -> Result<Option<Vec<String>>, DatabaseFailure> {
        let answers = self.send(&[statement]).await?;
        Ok(answers.first().and_then(StatementAnswer::first))
    }

    /// The store's clock, as SQL.
    fn clock(&self) -> Result<Sql, EngineError> {
        let Some(clock) = &self.clock else {
            return Ok(Sql::new(CLOCK, &[]));
        };
        let micros = u64::try_from(read_clock(&**clock)?.as_micros()).unwrap_or(u64::MAX);
        Ok(Sql::new("?", &[SqlValue::Number(micros)]))
    }

    /// As SQL, whether this session and the server are those that a write was decided for, at a
    /// time.
    fn may(&self, write: &Write, now: &Sql) -> Sql {
        let window = window(write);
        statements::may(
            self.number,
            now,
            window,
            self.fixed.known,
            &write.fingerprint,
        )
    }
}

/// The rows of an answer. The client limits each packet, not how many there are.
async fn rows(answer: &mut QueryResult<'_, '_, TextProtocol>) -> Result<Vec<Row>, Error> {
    let (mut rows, mut len) = (Vec::new(), 0);
    while let Some(row) = answer.next().await? {
        let values = (0..row.len()).map(|column| match row.as_ref(column) {
            Some(Value::Bytes(bytes)) => bytes.len(),
            _ => size_of::<Value>(),
        });
        len += size_of::<Row>() + values.sum::<usize>();
        if len > LARGEST_REPLY {
            return Err(Error::Io(IoError::Io(too_long())));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn texts(answers: impl IntoIterator<Item = StatementAnswer>) -> Result<TextsByKey, EngineError> {
    let rows = answers.into_iter().flat_map(|answer| answer.rows);
    let texts = rows.map(|row| {
        let record = from_row_opt::<(u8, u64, String)>(row);
        // Somebody else may have written bytes that are no text.
        let (kind, number, text) =
            record.map_err(|_| EngineError::failed_precondition("the lease store was damaged"))?;
        Ok((key(kind, number)?, text))
    });
    texts.collect()
}

impl StatementAnswer {
    /// Its first row, with nothing for `NULL`.
    fn first(&self) -> Option<Vec<String>> {
        self.rows.first().map(texts_of)
    }
}

fn texts_of(row: &Row) -> Vec<String> {
    let texts = (0..row.len()).map(|column| row.get_opt(column)?.ok().flatten());
    texts.map(Option::unwrap_or_default).collect()
}

const QUESTION: &str = "
    SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit,
        CONCAT(@@GLOBAL.sync_binlog, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')),
        @@GLOBAL.innodb_doublewrite, @@GLOBAL.innodb_flush_method,
        CONCAT(@@binlog_format, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')), ";

async fn findings(session: &mut MysqlSession) -> Result<Vec<Finding>, DatabaseFailure> {
    let question = Sql::new(QUESTION, &[]).with(session.fixed.known, &[]);
    let row: [String; 7] = session
        .row(question)
        .await?
        .unwrap_or_default()
        .try_into()
        .map_err(|_| emptied())?;
    let [
        server,
        flushes,
        syncs,
        doublewrite,
        method,
        binlog,
        fingerprint,
    ] = row;
    // Any other value writes the log once a second, or leaves that to the operating system.
    let once = |name, value: String| match &*value {
        "1" => Finding::fine(name, value),
        // Without a binary log, `sync_binlog` has no effect.
        unused if unused.contains("unused") => Finding::fine(name, value),
        _ => Finding::wrong(name, value, "a crash loses answered leases: set it to 1"),
    };
    // DETECT_ONLY notes which pages were written, and has no copy to mend them from.
    let is_whole = !matches!(&*doublewrite, "0" | "OFF" | "DETECT_ONLY");
    let settings = [
        once("innodb_flush_log_at_trx_commit", flushes),
        once("sync_binlog", syncs),
        whole_pages("innodb_doublewrite", doublewrite, is_whole),
        if server::never_syncs(&method) {
            let sentence = "a crash loses answered leases: set it to fsync or O_DIRECT";
            Finding::wrong("innodb_flush_method", method, sentence)
        } else {
            Finding::fine("innodb_flush_method", method)
        },
        if binlog == "STATEMENT" {
            let sentence = "the server refuses every write of the store: set it to MIXED or ROW";
            Finding::wrong("binlog_format", binlog, sentence)
        } else {
            Finding::fine("binlog_format", binlog)
        },
    ];
    let sentence =
        "a promoted replica is in quarantine, but the former primary must be down before";
    let failover = Some(Finding::caution("failover", "not known here", sentence));
    Ok(Finding::of_a_store(
        server,
        TABLES,
        settings,
        fingerprint,
        failover,
    ))
}

/// How a `MySQL` or `MariaDB` server is reached.
pub(crate) struct Mysql {
    options: Opts,
    expected: Vec<ExpectedPeer>,
    /// For an encrypted connection.
    files: Option<Files>,
    /// Clock instead of the server's, in tests.
    pub(crate) clock: Option<Arc<dyn Clock + Send + Sync>>,
}

impl Mysql {
    /// Connects to an address, and logs in.
    pub(crate) async fn connect(&self, attempt: &Attempt) -> Result<Conn, DatabaseFailure> {
        // For each connection anew: certificates are replaced before they expire.
        let encryption = self.files.as_ref().map(crate::tls::options).transpose()?;
        let options = OptsBuilder::from_opts(self.options.clone())
            .ssl_opts(encryption)
            // The name stays, for the certificate.
            .resolved_ips(attempt.address.map(|address| vec![address.ip()]));
        let connection = Conn::new(options).await;
        connection.map_err(|error| of_login(error, self.files.is_some()))
    }
}

impl Driver for Mysql {
    type Session = MysqlSession;

    const PLACE: &'static str = "MySQL";

    fn of(location: &Location) -> Result<Self, StoreError> {
        let [host] = location.hosts() else {
            return Err(location.refused("does not have one host"));
        };
        let password = location.password.as_ref();
        let options = OptsBuilder::default()
            .ip_or_hostname(&host.name)
            .tcp_port(host.port)
            .user(location.user.as_deref())
            .pass(password.map(|password| password.as_str()))
            .db_name(location.database.as_deref())
            // An update counts what it has found, also where it changed nothing.
            .client_found_rows(true)
            .max_allowed_packet(Some(LARGEST_REPLY))
            // The client would leave the encrypted connection for a socket that it is told of.
            .prefer_socket(false);
        let files = Files::asked_by(location)?;
        let name = "MySQL or MariaDB";
        Ok(Self {
            options: options.into(),
            expected: ExpectedPeer::all_of(location, Peer::Mysql, name, files.is_some()),
            files,
            clock: None,
        })
    }

    fn expected(&self) -> &[ExpectedPeer] {
        &self.expected
    }

    fn has_own_clock(&self) -> bool {
        self.clock.is_none()
    }
}

impl Debug for Mysql {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mysql")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
